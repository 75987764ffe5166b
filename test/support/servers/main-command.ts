/** A command of the built program, in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const MAIN = new URL('../../../src/main.js', import.meta.url).pathname

/** The loop goes on meanwhile: a kept connection that a server ends is known to be ended. */
export async function runMain(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<[status: number | null, stdout: string, stderr: string]> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH, ...env } })
  child.stdin.end(input)
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return [status, stdout, stderr]
}
