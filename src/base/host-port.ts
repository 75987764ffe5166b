/** Addresses to listen on, as `host:port`; an IPv6 address stands in brackets. */

const HOST_PORT = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]+)):([0-9]{1,5})$/

/** Null for anything else. The host comes without brackets. */
export function parseHostPort(text: string): { readonly host: string; readonly port: number } | null {
  const [, ipv6, name, digits] = HOST_PORT.exec(text) ?? []
  const host = ipv6 ?? name
  const port = Number(digits)
  return host !== undefined && port <= 65_535 ? { host, port } : null
}

/** The URL of the address the server listens on; `port` is the one it really has. */
export function listeningUrl(
  { tlsKey, host }: { readonly tlsKey: string; readonly host: string },
  port: number,
): string {
  const scheme = tlsKey === '' ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

const LOOPBACK_HOST =
  /^(?:localhost|(?:[a-z0-9-]+\.)+localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?$/i

/** Whether a `Host` header names the machine itself, which browsers hold for safe without https. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host)
}
