// Pointing at the field: a click selects, a wheel or two fingers go closer, and a drag moves what is closer.

const CLOSEST = 12;
const DRAGGED_PX = 5; // a hand that clicks is not quite still

class Pointer {
  constructor(stage) {
    Object.assign(this, { stage, down: new Map(), isDrag: false });
    const { canvas } = stage;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel", "pointerleave"])
      canvas.addEventListener(name, (event) => this.down.delete(event.pointerId));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("dblclick", () => stage.zoomBy(0));
  }

  at(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    if (!this.down.size) this.isDrag = false;
    const at = this.at(event);
    this.down.set(event.pointerId, { at, from: at });
  }

  move(event) {
    const at = this.at(event);
    const finger = this.down.get(event.pointerId);
    if (!finger) {
      this.stage.canvas.style.cursor = this.stage.nearest(...at) === null ? "default" : "pointer";
      return;
    }
    const before = finger.at;
    const other = [...this.down.entries()].find(([id]) => id !== event.pointerId)?.[1].at;
    finger.at = at;
    if (other) this.pinch(other, before, at);
    else if (this.isDrag || Math.hypot(at[0] - finger.from[0], at[1] - finger.from[1]) >= DRAGGED_PX) {
      this.isDrag = true;
      this.stage.moveBy(at[0] - before[0], at[1] - before[1]);
    }
  }

  // What lies below the fingers stays below them.
  pinch(other, before, at) {
    this.isDrag = true;
    const apart = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
    this.stage.moveBy((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    this.stage.zoomBy(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
  }

  click(event) {
    if (this.isDrag) return;
    const node = this.stage.nearest(...this.at(event));
    this.stage.player.selectNode(node === null ? null : this.stage.run.nodes[node]);
  }

  wheel(event) {
    event.preventDefault();
    this.stage.zoomBy(Math.exp(-event.deltaY / 400), ...this.at(event));
  }
}
