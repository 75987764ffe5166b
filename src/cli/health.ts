/** `sluice health`: asks the server of this machine for its health, for checks in containers that have no other program. */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Config } from '../config/config.js'
import { type CommandOutput, failCommand, type PrintOutput, parseCommandArgs, runCommand } from './command.js'

/** A server that takes longer cannot be called healthy. */
const DEADLINE_MS = 2_000
const PATH = '/api/v1/health'

const HEALTH_USAGE = `usage: sluice health

Asks the server that HOST and PORT name for ${PATH}, and waits ${DEADLINE_MS / 1000} s at most. A server of this machine is asked,
so its certificate is not looked at. While it drains, it takes no new connection and is not healthy.

Exit code 0 when it answers 200, 1 when it does not, 2 on a bad setting.
`

/** Where the server listens. */
export type HealthSettings = Pick<Config, 'host' | 'port' | 'tlsCert'>

/** Resolves with the exit code. `deadlineMs`: how long the answer may take. */
export function healthCommand(
  args: readonly string[],
  settings: () => Promise<HealthSettings>,
  print: PrintOutput,
  deadlineMs = DEADLINE_MS,
): Promise<number> {
  return runCommand({ args, usage: HEALTH_USAGE, print }, async (): Promise<CommandOutput> => {
    parseCommandArgs('health', args, {}, false)
    const url = healthUrl(await settings())
    const status = await askStatus(url, deadlineMs).catch((error: Error) =>
      failCommand(`${url} ${error.message}`),
    )
    return status === 200 ? { text: 'healthy\n' } : failCommand(`${url} answers ${status}`)
  })
}

/** Who listens on every address is reached on the loopback one. */
function healthUrl({ host, port, tlsCert }: HealthSettings): string {
  if (port === 0) failCommand('PORT is 0, so nobody knows which one the server took: set it')
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = reached.includes(':') ? `[${reached}]` : reached
  return `${tlsCert === '' ? 'http' : 'https'}://${name}:${port}${PATH}`
}

/** The status of the answer. Rejects with what follows the address in a sentence. */
function askStatus(url: string, deadlineMs: number): Promise<number> {
  const signal = AbortSignal.timeout(deadlineMs)
  const isSecure = url.startsWith('https:')
  return new Promise((resolve, reject) => {
    const fail = ({ message }: Error): void =>
      reject(new Error(signal.aborted ? `does not answer within ${deadlineMs} ms` : `fails: ${message}`))
    const options = { agent: false, signal } as const
    const asked = isSecure
      ? requestHttps(url, { ...options, rejectUnauthorized: false })
      : requestHttp(url, options)
    asked.on('error', fail)
    asked.on('response', (answer) => {
      answer.on('error', fail)
      answer.on('end', () => resolve(answer.statusCode ?? 0))
      answer.resume()
    })
    asked.end()
  })
}
