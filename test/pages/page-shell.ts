/** The shell of a reader who works through a page: variables and background programs stay from block to block. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { withEnvironment } from '../support/servers/server-process.js'

interface ShellOutcome {
  /** Of the last command that failed; 0 when none did. */
  readonly code: number
  /** Both outputs, as a terminal shows them. */
  readonly output: string
}

/** The repository a reader has cloned. */
interface Clone {
  /** Its folder. */
  readonly root: string
  /** What `npx sluice` runs. */
  readonly main: string
}

/**
 * An answer that tells of a failure fails its command, so that nobody has to read it. A program of the page that was
 * started right before may not listen yet.
 */
const CURL = `curl() {
  local code
  for try in 1 2 3 4 5 6 7 8 9; do
    command curl --fail-with-body -sS --max-time 20 "$@"; code=$?
    [ $code -eq 7 ] || return $code
    sleep 0.2
  done
  return $code
}`

const inClone = ({ root, main }: Clone): string => `
npm() { case $1 in run) ( cd '${root}' && command npm --silent "$@" );; *) echo "a test does not run npm $1"; return 99;; esac; }
npx() { case $1 in sluice) shift; '${process.execPath}' '${main}' "$@";; *) ( cd '${root}' && command npx "$@" );; esac; }
`

export class PageShell {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #ended: Promise<void>
  #output = ''
  #onOutput: () => void = () => {}
  #commands = 0

  constructor(folder: string, env: Readonly<Record<string, string>>, clone: Clone) {
    const [program = '', ...args] = withEnvironment(env, ['bash'])
    // A group of its own: what a page leaves in the background ends with it.
    this.#child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'], detached: true })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
      this.#onOutput()
    })
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()))
    this.#child.stdin.write(`set -o pipefail; exec 2>&1\n${CURL}\n${inClone(clone)}\n`)
  }

  /** Runs commands to their end. Rejects when they take longer than `limitMs`. */
  run(commands: string, limitMs: number): Promise<ShellOutcome> {
    const mark = `end-of-command-${++this.#commands}`
    this.#output = ''
    this.#child.stdin.write(
      `__failed=0; trap '__failed=$?' ERR\n{ ${commands}\n} < /dev/null\ntrap - ERR; printf '\\n${mark} %s\\n' "$__failed"\n`,
    )
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not done in ${limitMs} ms: ${this.#output}`)), limitMs)
      this.#onOutput = () => {
        const [all, code] = new RegExp(`\\n${mark} (\\d+)\\n`).exec(this.#output) ?? []
        if (all === undefined) return
        clearTimeout(timer)
        resolve({ code: Number(code), output: this.#output.slice(0, this.#output.indexOf(all)) })
      }
    })
  }

  /** Ends it with all that it has started. */
  async close(): Promise<void> {
    process.kill(-this.#child.pid!, 'SIGKILL')
    await this.#ended
  }
}
