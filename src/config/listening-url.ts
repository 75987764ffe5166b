import type { Config } from './config.js'

/** The URL of the address the server listens on; `port` is the one it really has. */
export function listeningUrl({ tlsKey, host }: Pick<Config, 'tlsKey' | 'host'>, port: number): string {
  const scheme = tlsKey === '' ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
