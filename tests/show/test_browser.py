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
    *(
        verdict(f"B{k}", "baldoni", name, evidence=["baldoni/made-up"])
        for k, name in enumerate([REPRODUCED, NOT, REPRODUCED], 1)
    ),
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


def written(place: Path, scale: str, replays: bool = False) -> Path:
    rows = campaign(FIGURE.name, ["gossip", "proximity"], [0.1, 0.5, 1.0])
    rows += campaign("league/common", ["gossip", "counter", "frugal"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "names", lambda *_: [FIGURE.name])
        patch.setattr(experiments, "load", lambda _: FIGURE)
        patch.setattr(kept, "load", lambda: Kept(MADE, kept.counted(VERDICTS), VERDICTS))
        return report.write(folder(place, rows, VERDICTS, scale=scale), replays=replays)


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


@pytest.fixture
def scored(opened: Browser) -> Browser:
    """With the scorecard unfolded."""
    click(opened, "nav a[href='#scorecard']")
    return opened


def click(browser: Browser, selector: str) -> None:
    from selenium.webdriver.common.by import By

    browser.driver.find_element(By.CSS_SELECTOR, selector).click()
    settle(browser)


def settle(browser: Browser) -> None:
    """Until two pictures were drawn since."""
    browser.run(
        "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )


def unfold_all(browser: Browser) -> None:
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")


def current(browser: Browser) -> list[str]:
    """What the contents mark as the place where one is."""
    return browser.run(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll('nav [aria-current]')].map(a => a.getAttribute('href'))"
    )


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
    unfold_all(opened)
    assert opened.complaints() == []
    assert opened.requests() == [page.absolute().as_uri()]


def test_claims_are_filtered_by_words_paper_and_verdict(scored: Browser) -> None:
    assert claims(scored) == ["B1", "B2", "B3", "F1", "F2", "C1"]
    choose(scored, paper="baldoni")
    assert claims(scored) == ["B1", "B2", "B3"]
    choose(scored, verdict="yes")
    assert claims(scored) == ["B1", "B3"]
    choose(scored, verdict="no")
    assert claims(scored) == ["B1", "B2", "B3"]
    choose(scored, text="claim b2")
    assert claims(scored) == ["B2"]
    assert scored.run("return document.querySelector('output').textContent") == "1 of 6 claims"


def test_words_may_stand_anywhere_in_any_order(scored: Browser) -> None:
    choose(scored, text="DELIVER sensors")
    assert claims(scored) == ["C1"]


def test_a_filter_that_nothing_fits_says_so_and_all_come_back(scored: Browser) -> None:
    choose(scored, text="no such words")
    assert claims(scored) == []
    assert scored.run("return document.querySelector('.nothing').checkVisibility()")
    scored.run("document.querySelector('button[type=reset]').click()")
    scored.driver.implicitly_wait(1)
    assert scored.run("return new Promise(done => setTimeout(() => done(true), 50))")
    assert len(claims(scored)) == 6
    assert not scored.run("return document.querySelector('.nothing').checkVisibility()")


def test_a_paper_leads_to_its_claims(opened: Browser) -> None:
    click(opened, "nav a[href='#paper-baehni']")
    click(opened, "#paper-baehni a[data-paper]")
    assert opened.run("return new Promise(done => setTimeout(() => done(true), 50))")
    assert claims(opened) == ["F1", "F2"]


def test_the_page_can_be_used_by_keyboard(opened: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    def tab_to(wanted: str) -> list[str]:
        reached: list[str] = []
        while len(reached) < 60 and wanted not in reached:
            opened.driver.switch_to.active_element.send_keys(Keys.TAB)
            reached.append(opened.run("const e = document.activeElement; return e.id || e.className || e.tagName"))
        return reached

    assert tab_to("SUMMARY")[0] == "skip"
    opened.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.run("return document.activeElement.parentElement.open")
    assert opened.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert tab_to("paper")[-1] == "paper"


# ---- parts, and where one is


def test_parts_are_folded_and_say_what_is_in_them(opened: Browser) -> None:
    parts = opened.run("return [...document.querySelectorAll('details.part')].map(e => [e.open, e.innerText])")
    assert len(parts) == 6  # scorecard, three papers, league, provenance
    assert not any(unfolded for unfolded, _ in parts)
    assert "3 claims: 2 reproduced, 1 not reproduced" in parts[1][1]
    assert opened.run("return document.documentElement.scrollHeight") < 2500


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("place", ["paper-baldoni", "fig-baldoni-made-up", "claim-F2", "league", "at-league-common"])
def test_an_address_leads_into_a_folded_part(
    browser: Browser, page: Path, tmp_path: Path, place: str, script: bool
) -> None:
    """Opened with it, and followed as a link; also where no script runs."""
    browser.emulate()
    shown = page if script else without_script(page, tmp_path)
    browser.open(shown, place=place)
    settle(browser)
    assert seen(browser, place)
    browser.open(shown)
    browser.run(
        "const a = document.createElement('a'); a.href = '#' + arguments[0]; a.id = 'way';"
        "document.querySelector('header').append(a); a.textContent = 'go'",
        place,
    )
    click(browser, "#way")
    assert seen(browser, place)


@pytest.mark.parametrize("paper", ["baldoni", "baehni"])
def test_on_a_phone_an_address_shows_the_heading_of_its_part(browser: Browser, page: Path, paper: str) -> None:
    browser.emulate()
    browser.open(page, 390, 844, f"paper-{paper}")
    settle(browser)
    heading, contents = browser.run(
        "const part = document.getElementById(`paper-${arguments[0]}`).parentElement;"
        "return [part.querySelector('h2'), document.querySelector('nav.contents')].map(e => e.getBoundingClientRect())"
        ".map(box => [box.top, box.bottom])",
        paper,
    )
    assert contents[1] <= heading[0] < 300


def seen(browser: Browser, place: str) -> bool:
    """Whether an element is unfolded and in the window."""
    return browser.run(  # type: ignore[no-any-return]
        "const e = document.getElementById(arguments[0]), b = e.getBoundingClientRect();"
        "return e.checkVisibility() && b.height > 0 && b.top > -50 && b.top < innerHeight",
        place,
    )


def test_the_contents_mark_where_one_is(opened: Browser) -> None:
    assert current(opened) == ["#short"]
    unfold_all(opened)
    for place, marked in (
        ("scorecard", ["#scorecard"]),
        ("paper-baldoni", ["#paper-baldoni"]),
        ("fig-baldoni-made-up", ["#paper-baldoni", "#fig-baldoni-made-up"]),
        ("paper-baehni", ["#paper-baehni"]),
        ("at-league-common", ["#league", "#at-league-common"]),
    ):
        opened.run("document.getElementById(arguments[0]).scrollIntoView({behavior: 'instant'})", place)
        settle(opened)
        assert current(opened) == marked
    opened.run("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    settle(opened)
    assert current(opened) == ["#provenance"]


def test_only_the_part_where_one_is_shows_its_figures_in_the_contents(opened: Browser) -> None:
    listed = "return [...document.querySelectorAll('nav ol ol a')].filter(a => a.checkVisibility()).map(a => a.hash)"
    assert opened.run(listed) == []
    click(opened, "nav a[href='#paper-baldoni']")
    assert opened.run(listed) == ["#fig-baldoni-fig9", "#fig-baldoni-made-up"]


def test_on_a_phone_the_contents_stay_in_sight_in_one_line(browser: Browser, page: Path) -> None:
    browser.emulate()
    browser.open(page, 390, 800)
    click(browser, "nav summary")
    click(browser, "nav a[href='#paper-baehni']")
    bar = browser.run("const b = document.querySelector('nav').getBoundingClientRect(); return [b.top, b.height]")
    assert bar[0] == 0 and bar[1] < 60
    assert browser.run("return document.querySelector('nav summary').innerText").endswith("Baehni et al. 2005")
    assert seen(browser, "paper-baehni")


def test_every_claim_stands_with_its_figure_or_leads_to_it(opened: Browser) -> None:
    unfold_all(opened)
    rows = opened.run(
        "return [...document.querySelectorAll('.scorecard tbody tr')].map(r => [r.querySelector('.id').hash,"
        " [...r.querySelectorAll('td:last-child a')].map(a => a.hash)])"
    )
    assert len(rows) == 6
    assert [figures for _, figures in rows if figures] == [["#fig-baldoni-made-up"]] * 3
    for claim, figures in rows:
        assert opened.run("return document.querySelector(arguments[0]).className", claim) == "claim"
        for figure in figures:
            assert opened.run("return document.querySelector(arguments[0]).tagName", figure) == "FIGURE"
            assert opened.run("return document.querySelector(arguments[0]).closest('figure').id", claim) == figure[1:]
    dots = opened.run("return [...document.querySelectorAll('a.dot')].map(a => a.hash)")
    assert dots == [claim for claim, _ in rows]


def test_a_figure_has_one_legend_that_shows_what_its_panels_show(opened: Browser) -> None:
    unfold_all(opened)
    legends = opened.run(
        "return [...document.querySelectorAll('#fig-baldoni-made-up ul.legend')].map("
        "u => [...u.children].map(li => li.textContent))"
    )
    assert legends == [["gossip", "proximity"]]
    inside = opened.run(
        "return [...document.querySelectorAll('#fig-baldoni-made-up .panels text')].map(t => t.textContent)"
    )
    assert "gossip" not in inside and "delivery" in inside
    assert opened.run("return document.querySelectorAll('#fig-at-league-common ul.legend').length") == 1


def test_the_page_is_dark_where_people_want_it_dark(browser: Browser, page: Path) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        browser.emulate(scheme)
        browser.open(page, place="fig-baldoni-made-up")
        settle(browser)
        shades[scheme] = browser.run(
            "const shade = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number); return (r + g + b) / 765; };"
            "const of = (s, p) => shade(getComputedStyle(document.querySelector(s))[p]);"
            "return [of('body', 'backgroundColor'), of('figure', 'backgroundColor'), of('body', 'color'),"
            " of('#fig-baldoni-made-up ul.legend path', 'stroke'), of('details.part > summary', 'backgroundColor')]"
        )
    back, paper, ink, line, card = shades["light"]
    assert back > 0.9 and paper > 0.9 and card > 0.9 and ink < 0.2 and line < 0.2
    back, paper, ink, line, card = shades["dark"]
    assert back < 0.2 and paper < 0.2 and card < 0.2 and ink > 0.8 and line > 0.8


def test_a_run_plays_beside_the_description_of_its_system(browser: Browser, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.emulate()
    browser.open(written(tmp_path, "full", replays=True), place="paper-baldoni")
    settle(browser)
    frame = browser.driver.find_element(By.CSS_SELECTOR, "#paper-baldoni .replay iframe")
    browser.driver.switch_to.frame(frame)
    try:
        clock = "return document.getElementById('clock')?.textContent"
        WebDriverWait(browser.driver, 60).until(lambda _: browser.run(clock))
        opened_s = browser.run("return replay.state().t") / 1e6
        assert browser.run(clock) == f"{opened_s:.3f} s" and 9.5 <= opened_s <= 18.0  # at an event of the seconds shown
        assert browser.run("return document.getElementById('opening').checkVisibility()")
        assert browser.run("return document.querySelector('.stage figcaption').innerText").startswith("100 nodes")
        assert not browser.run("return document.querySelector('header').checkVisibility()")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.driver.switch_to.default_content()
    assert browser.complaints() == []


# ---- figures


def test_figures_are_seen_and_named(opened: Browser) -> None:
    unfold_all(opened)
    sizes = opened.run(
        "return [...document.querySelectorAll('figure .panels svg')].map(s => {"
        " s.scrollIntoView({behavior: 'instant'}); const b = s.getBoundingClientRect();"
        " return [b.width, b.height, s.getAttribute('aria-label')]; })"
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
            "const s = document.querySelector('figure .panels svg'); const t = s.querySelector('text');"
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
        unfold_all(browser)
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
    opened.run("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.run(seen, ".scorecard tbody tr") == 6 and opened.run(seen, ".claim") == 6
    assert opened.run(seen, "details.printed dd") > 20
    opened.run("window.dispatchEvent(new Event('afterprint'))")
    assert opened.run(seen, "details.printed[open]") == 0
    opened.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def without_script(page: Path, folder: Path) -> Path:
    head, _, rest = page.read_text().rpartition("<script>")
    bare = folder / "bare.html"
    bare.write_text(head + rest.partition("</script>")[2])
    return bare


def test_without_its_script_everything_can_be_unfolded(browser: Browser, page: Path, tmp_path: Path) -> None:
    browser.emulate()
    browser.open(without_script(page, tmp_path))
    assert claims(browser) == []
    click(browser, "nav a[href='#scorecard']")
    assert len(claims(browser)) == 6
    assert not browser.run("return document.querySelector('form.filters').checkVisibility()")


def test_figures_are_drawn_only_when_their_part_is_unfolded(opened: Browser) -> None:
    drawn = "return [...document.querySelectorAll('figure')].map(f => f.checkVisibility())"
    assert opened.run(drawn) == [False] * 3
    unfold_all(opened)
    assert opened.run(drawn) == [True] * 3
