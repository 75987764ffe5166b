/** Work over many records, in slices of turns of the event loop. */
import { largeTurn } from './large-turns.js'

/** Milliseconds after which others get a word. */
const SLICE_MS = 4

/** Asked between steps that are short each. */
export class TurnSlices {
  #beganAt = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#beganAt > SLICE_MS
  }

  /** Goes on in a turn of its own. */
  async next(): Promise<void> {
    await largeTurn()
    this.#beganAt = performance.now()
  }
}
