/**
 * Another gateway from the registry, run beside ours for comparison. The bench installs it by itself, and only when it
 * is asked to; the product never depends on it.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { pinnedCommand } from '../../harness/machine/pinning.js'
import { installNpmProgram } from '../../harness/npm-program.js'
import { type ChildProcesses, freePort } from '../../harness/server/child-processes.js'
import { programTarget } from '../sides.js'

const NAME = '@portkey-ai/gateway'
const VERSION = '1.15.2'
/** With newer ones of these two, which its own ranges allow, it answers every stream with a 500. */
const OVERRIDES = { '@hono/node-server': '1.13.5', hono: '4.9.7' }
const START_LIMIT_MS = 30_000

export const PEER_LABEL = `${NAME} ${VERSION}`
export const PEER_PATH = '/v1/chat/completions'

/** What the peer wants to be told with every call. */
export function peerHeaders(upstream: string): Record<string, string> {
  return {
    Authorization: 'Bearer none',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/v1`,
  }
}

/** The peer's program. Throws with npm's last words when it cannot be installed. */
export const installPeer = (): string =>
  installNpmProgram({ name: NAME, version: VERSION, program: 'build/start-server.js', overrides: OVERRIDES })

/** Starts the peer on a free port; it listens on every address, which it cannot be talked out of. Throws when it does not listen within 30 s. */
export async function startPeer(children: ChildProcesses, cores: readonly number[] | null, program: string) {
  const port = await freePort()
  const command = [process.execPath, program, `--port=${port}`, '--headless']
  const child = children.start(pinnedCommand(cores, command), {
    stdio: 'ignore',
    // Foreign code gets nothing of this shell's environment but the way to its programs.
    env: { PATH: process.env.PATH, NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
  })
  const target = programTarget(child, port, children)
  for (const limit = performance.now() + START_LIMIT_MS; !(await listens(port)); await sleep(50)) {
    if (target.gone() || performance.now() > limit) throw new Error(`${PEER_LABEL} does not listen`)
  }
  return target
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
