/** Lists of hosts that a command may reach. */
import { isIP } from 'node:net'

/** `example.com` lets the host and all below it through; addresses stand for themselves. */
export function isAllowedHost(host: string, allowedDomains: readonly string[]): boolean {
  const name = plainHost(host)
  return allowedDomains.some((entry) => {
    const allowed = plainHost(entry)
    return allowed !== '' && (name === allowed || (isIP(name) === 0 && name.endsWith(`.${allowed}`)))
  })
}

/** In lower case, without the brackets of addresses and the dot of the root. */
export function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}
