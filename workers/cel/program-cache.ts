const MAX_PROGRAMS = 512
/** Measured: a node takes some 400 bytes, with what runs it, so all programs of a thread stay near 20 MB. */
const MAX_NODES = 50_000

interface CachedProgram<P> {
  readonly program: P
  readonly nodes: number
}

/** Compiled conditions of one thread by their text, the least recently used given up first. */
export class ProgramCache<P> {
  readonly #entries = new Map<string, CachedProgram<P>>()
  #nodes = 0

  get size(): number {
    return this.#entries.size
  }

  /** Undefined when the text is not known. */
  get(text: string): P | undefined {
    const entry = this.#entries.get(text)
    if (entry === undefined) return undefined
    this.#entries.delete(text)
    this.#entries.set(text, entry)
    return entry.program
  }

  /** Keeps the program of a text that is not known yet; `nodes` says how large its tree is. */
  set(text: string, program: P, nodes: number): void {
    this.#entries.set(text, { program, nodes })
    this.#nodes += nodes
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= MAX_PROGRAMS && this.#nodes <= MAX_NODES) return
      this.#entries.delete(oldest)
      this.#nodes -= entry.nodes
    }
  }
}
