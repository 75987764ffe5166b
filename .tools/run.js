/** Runs other programs for the tools of this folder. */
import { execFileSync } from 'node:child_process'
import { env } from 'node:process'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** For tar: order, times and owners say nothing of where and when it was made. */
export const SAME_BYTES = [
  '--format=gnu',
  '--sort=name',
  '--mtime=@0',
  '--numeric-owner',
  '--owner=0',
  '--group=0',
]

/**
 * What a program prints; throws with what it said when it fails.
 *
 * @param {string} program
 * @param {readonly string[]} args
 */
export function run(program, args, cwd = ROOT) {
  // What npm and the test runner have set for this process is not for that one.
  const { PATH, HOME } = env
  const settings = { PATH, HOME, npm_config_update_notifier: 'false' }
  return execFileSync(program, args, {
    cwd,
    env: settings,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  })
}
