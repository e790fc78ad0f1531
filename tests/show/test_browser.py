"""The report in a real browser: what a person sees, filters, prints, and what the page does behind their back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roamcast.judging import kept
from roamcast.judging.kept import Kept
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED
from roamcast.papers import experiments
from roamcast.papers.experiments import Experiment, Plot
from roamcast.show import report
from tests.show.browser import Browser, started
from tests.show.made_up import campaign, folder, verdict
from tests.show.test_campaign import sweep

MADE = kept.Made("0.1.0", "0.1.0+abc", "2026-01-31", 12345, 600.0)
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
VERDICTS = [
    *(verdict(f"B{k}", "baldoni", name) for k, name in enumerate([REPRODUCED, NOT, REPRODUCED], 1)),
    *(verdict(f"F{k}", "baehni", name) for k, name in enumerate([NOT, OPEN], 1)),
    verdict("C1", "costa", REPRODUCED, says="sensors sleep and still deliver"),
]
FIGURE = Experiment(
    title="Gossip against its probability",
    paper="baldoni",
    figure="Fig. 11",
    source="§VI-B",
    campaign={},
    plot=[Plot(x="p", y=y, x_label="p", y_label=y) for y in ("delivery", "overhead")],
    name="baldoni/made-up",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


def written(place: Path, scale: str) -> Path:
    rows = campaign(FIGURE.name, ["gossip", "proximity"], [0.1, 0.5, 1.0])
    rows += campaign("league/common", ["gossip", "counter", "frugal"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "names", lambda *_: [FIGURE.name])
        patch.setattr(experiments, "load", lambda _: FIGURE)
        patch.setattr(kept, "load", lambda: Kept(MADE, kept.counted(VERDICTS), VERDICTS))
        return report.write(folder(place, rows, VERDICTS, scale=scale))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("results"), "full")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run has one column more: beside the full campaign's verdicts."""
    return written(tmp_path_factory.mktemp("quick"), "quick")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of one's own, in which a parameter and a field of the world vary."""
    return report.write(folder(tmp_path_factory.mktemp("sweep"), sweep(["5", "20", "40"], ["0.3", "0.6", "1.0"])))


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.emulate()
    browser.open(page)
    return browser


def claims(browser: Browser) -> list[str]:
    """Those that can be seen."""
    return browser.run(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll('.scorecard tbody tr')].filter(r => r.checkVisibility())"
        ".map(r => r.querySelector('.id').textContent)"
    )


def choose(browser: Browser, text: str | None = None, paper: str | None = None, verdict: str | None = None) -> None:
    """As a person would: by typing, choosing and clicking."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    driver = browser.driver
    if text is not None:
        field = driver.find_element(By.ID, "text")
        field.clear()
        field.send_keys(text)
    if paper is not None:
        Select(driver.find_element(By.ID, "paper")).select_by_value(paper)
    if verdict is not None:
        driver.find_element(By.CSS_SELECTOR, f"input[name=verdict][value={verdict}]").click()


def test_nothing_is_complained_about_and_nothing_is_fetched(opened: Browser, page: Path) -> None:
    opened.run("for (const each of document.querySelectorAll('details')) each.open = true")
    assert opened.complaints() == []
    assert opened.requests() == [page.absolute().as_uri()]


def test_claims_are_filtered_by_words_paper_and_verdict(opened: Browser) -> None:
    assert claims(opened) == ["B1", "B2", "B3", "F1", "F2", "C1"]
    choose(opened, paper="baldoni")
    assert claims(opened) == ["B1", "B2", "B3"]
    choose(opened, verdict="yes")
    assert claims(opened) == ["B1", "B3"]
    choose(opened, verdict="no")
    assert claims(opened) == ["B1", "B2", "B3"]
    choose(opened, text="claim b2")
    assert claims(opened) == ["B2"]
    assert opened.run("return document.querySelector('output').textContent") == "1 of 6 claims"


def test_words_may_stand_anywhere_in_any_order(opened: Browser) -> None:
    choose(opened, text="DELIVER sensors")
    assert claims(opened) == ["C1"]


def test_a_filter_that_nothing_fits_says_so_and_all_come_back(opened: Browser) -> None:
    choose(opened, text="no such words")
    assert claims(opened) == []
    assert opened.run("return document.querySelector('.nothing').checkVisibility()")
    opened.run("document.querySelector('button[type=reset]').click()")
    opened.driver.implicitly_wait(1)
    assert opened.run("return new Promise(done => setTimeout(() => done(true), 50))")
    assert len(claims(opened)) == 6
    assert not opened.run("return document.querySelector('.nothing').checkVisibility()")


def test_a_paper_leads_to_its_claims(opened: Browser) -> None:
    opened.run("document.querySelector('.bypaper a[data-paper=\"baehni\"]').click()")
    assert opened.run("return new Promise(done => setTimeout(() => done(true), 50))")
    assert claims(opened) == ["F1", "F2"]


def test_the_page_can_be_used_by_keyboard(opened: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    reached = []
    for _ in range(60):
        active = opened.driver.switch_to.active_element
        active.send_keys(Keys.TAB)
        reached.append(opened.run("const e = document.activeElement; return e.id || e.className || e.tagName"))
        if reached[-1] == "SUMMARY":
            break
    assert reached[0] == "skip" and "text" in reached and "paper" in reached
    opened.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.run("return document.activeElement.parentElement.open")
    assert opened.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_figures_are_seen_and_named(opened: Browser) -> None:
    sizes = opened.run(
        "return [...document.querySelectorAll('figure svg')].map(s => { s.scrollIntoView({behavior: 'instant'});"
        " const b = s.getBoundingClientRect(); return [b.width, b.height, s.getAttribute('aria-label')]; })"
    )
    assert len(sizes) == 2 + 2 + 3  # Fig. 9, the made-up one, three fronts
    assert all(width > 250 and height > 180 for width, height, _ in sizes)
    assert all(len(name) > 30 for _, _, name in sizes)
    assert "gossip from" in sizes[2][2]


def test_panels_of_a_campaign_are_seen_and_named(browser: Browser, swept: Path) -> None:
    browser.emulate()
    for width, columns in ((1280, 2), (390, 1)):
        browser.open(swept, width)
        rows = browser.run(
            "return [...document.querySelectorAll('#fig-sweep-speed-max-mps .panels')].map(row => {"
            " row.scrollIntoView({behavior: 'instant'});"
            " return [...row.querySelectorAll('svg')].map(s => { const b = s.getBoundingClientRect();"
            " return [Math.round(b.x), b.width, s.getAttribute('aria-label')]; }); })"
        )
        assert len(rows) == 3 and all(len(row) == 2 for row in rows)  # delivery, overhead, energy; two protocols
        assert all(len({x for x, _, _ in row}) == columns for row in rows)
        assert all(panel_width > 250 for row in rows for _, panel_width, _ in row)
        assert rows[0][0][2].startswith("gossip: delivery against speed max [m/s] by p: 0.3 from ")


def test_numbers_behind_the_panels_of_a_campaign_can_be_unfolded(browser: Browser, swept: Path) -> None:
    browser.emulate()
    browser.open(swept)
    browser.run("document.querySelector('#fig-sweep-p summary').click()")
    text = browser.run("return document.querySelector('#fig-sweep-p table').innerText")
    assert text.split("\n")[1].split("\t")[:2] == ["speed max [m/s]", "p"] or "speed max [m/s]" in text
    assert browser.complaints() == []


def test_marks_of_a_figure_have_ink_in_light_and_dark(browser: Browser, page: Path) -> None:
    """Axes follow the page's colour of text."""
    for scheme in ("light", "dark"):
        browser.emulate(scheme)
        browser.open(page)
        axis, text = browser.run(
            "const s = document.querySelector('figure svg'); const t = s.querySelector('text');"
            "return [getComputedStyle(t).fill, getComputedStyle(document.body).color]"
        )
        assert axis == text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_text_stands_out_from_what_is_behind_it(
    browser: Browser, page: Path, swept: Path, scheme: str, width: int
) -> None:
    """WCAG AA: 4.5 to 1, or 3 to 1 for large text."""
    browser.emulate(scheme)
    for each, least in ((page, 150), (swept, 100)):
        browser.open(each, width)
        browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
        checked, faint = browser.run(CONTRAST)
        assert checked > least
        assert faint == []


@pytest.mark.parametrize("width", [320, 390, 768, 900, 1280, 1920])
def test_no_width_needs_scrolling_sideways(browser: Browser, page: Path, quick: Path, swept: Path, width: int) -> None:
    browser.emulate()
    for each in (page, quick, swept):
        browser.open(each, width)
        assert browser.run("return document.documentElement.scrollWidth") <= width


def test_it_has_landmarks_and_every_table_has_headers(opened: Browser) -> None:
    counts = opened.run(
        "return ['main', 'nav', 'header', 'footer', 'form[role=search]', 'h1'].map("
        "s => document.querySelectorAll(s).length)"
    )
    assert counts == [1, 1, 1, 1, 1, 1]
    bare = "return [...document.querySelectorAll('table')].filter(t => !t.querySelector('th[scope=col]')).length"
    assert opened.run(bare) == 0
    unnamed = (
        "return [...document.querySelectorAll('input, select')].filter(i => !i.labels.length && !i.ariaLabel).length"
    )
    assert opened.run(unnamed) == 0


def test_on_paper_there_are_no_controls_and_readings_are_unfolded(opened: Browser, page: Path, tmp_path: Path) -> None:
    opened.emulate(media="print")
    seen = "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).length"
    assert opened.run(seen, "form.filters, nav") == 0
    assert opened.run(seen, ".scorecard tbody tr") == 6
    opened.run("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.run(seen, "details.printed dd") > 20
    opened.run("window.dispatchEvent(new Event('afterprint'))")
    assert opened.run(seen, "details.printed[open]") == 0
    opened.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_without_its_script_the_page_shows_everything(browser: Browser, page: Path, tmp_path: Path) -> None:
    head, _, rest = page.read_text().rpartition("<script>")
    bare = tmp_path / "bare.html"
    bare.write_text(head + rest.partition("</script>")[2])
    browser.emulate()
    browser.open(bare)
    assert len(claims(browser)) == 6
    assert not browser.run("return document.querySelector('form.filters').checkVisibility()")


def test_a_hundred_figures_are_laid_out_only_when_they_are_seen(opened: Browser) -> None:
    assert opened.run("return getComputedStyle(document.querySelector('figure')).contentVisibility") == "auto"
