/** Commands as people type them. */
import { spawn } from 'node:child_process'
import { withEnvironment } from '../servers/server-process.js'

interface ShellOptions {
  /** Working folder. */
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** Ends it when it takes longer, with exit code null. */
  readonly limitMs?: number
}

interface ShellRun {
  /** Null when it was ended by a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const LIMIT_MS = 30_000

/** Runs a script in bash to its end; a command of it that fails ends it. */
export function runShell(script: string, options: ShellOptions): Promise<ShellRun> {
  const { folder, env, limitMs = LIMIT_MS } = options
  const [program = '', ...args] = withEnvironment(env, ['bash', '-euo', 'pipefail', '-c', script])
  const child = spawn(program, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...output }))
  })
}
