/** The progress line: what runs now and how long the whole run still takes. */

/** Where lines go; on a terminal one line is rewritten, elsewhere each step gets a line. */
interface ProgressStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export class Progress {
  readonly #stream: ProgressStream
  #leftSeconds: number

  constructor(totalSeconds: number, stream: ProgressStream) {
    this.#leftSeconds = totalSeconds
    this.#stream = stream
  }

  /** Shows `label` while `work` runs; `seconds` is what it was expected to take. */
  async during<T>(label: string, seconds: number, work: () => Promise<T>): Promise<T> {
    const began = performance.now()
    const show = () => this.#show(label, this.#leftSeconds - (performance.now() - began) / 1000)
    show()
    const timer = this.#stream.isTTY ? setInterval(show, 1000) : undefined
    try {
      return await work()
    } finally {
      clearInterval(timer)
      this.#leftSeconds -= seconds
    }
  }

  /** Removes the line from a terminal. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K')
  }

  #show(label: string, leftSeconds: number): void {
    const line = `bench: ${label} (${formatSeconds(leftSeconds)} left)`
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${line}` : `${line}\n`)
  }
}

function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
}
