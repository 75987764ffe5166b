/** What the operator reads when the server listens. */
import { listeningUrl, parseHostPort } from '../base/host-port.js'
import type { Config } from '../config/config.js'

/** Keys are shown when they are made, so who has lost them has to be told how to make another. */
const KEYS_EXIST =
  'keys were made at an earlier start: "npx sluice keys list" names them, "npx sluice keys create --name NAME" makes another'

interface ReadyServer {
  readonly url: string
  readonly workers: number
  /** Of each worker. */
  readonly poolThreads: number
  /** Whether an earlier start has made the first keys. */
  readonly hadStore: boolean
  readonly config: Pick<Config, 'tlsKey' | 'consoleListen'>
}

/** In one piece: who has read that the server listens has read the rest as well. */
export function readyLines({ url, workers, poolThreads, hadStore, config }: ReadyServer): string {
  const own = parseHostPort(config.consoleListen)
  const lines = [
    `sluice listening on ${url} (workers: ${workers}, pool threads: ${poolThreads})`,
    `start page ${url}/, documentation of the API ${url}/docs`,
    ...(own === null ? [] : [`console ${listeningUrl({ ...config, host: own.host }, own.port)}/console`]),
    ...(hadStore ? [KEYS_EXIST] : []),
  ]
  return lines.join('\n')
}
