/** Lists of domains: which addresses they let through, and where they contradict themselves. */
import { isIP } from 'node:net'
import { asList, type JsonObject } from '../formats/json-values.js'
import type { ToolRefusal } from '../tools/port/tool.js'

/** A list names no domain, or contradicts the other one. Goes on from the list's member. */
export interface DomainFault {
  readonly list: 'allowed' | 'denied'
  readonly index: number
  readonly problem: string
}

/** The lists of a tool or plugin; a fault of theirs names the member. `members`: the allowed one, the denied one. */
export function domainsOf(
  options: JsonObject,
  members: { readonly allowed: string; readonly denied: string },
): DomainFilter | ToolRefusal {
  const listOf = (member: string): readonly string[] => asList(options[member]) as readonly string[]
  const filter = domainFilter(listOf(members.allowed), listOf(members.denied))
  if (!('problem' in filter)) return filter
  return { refused: filter.problem, member: [members[filter.list], filter.index] }
}

/** One entry of a list. */
interface DomainRule {
  /** In ASCII, lower case, without a dot at either end. */
  readonly host: string
  /** `*.example.com`: not the domain itself. */
  readonly isBelow: boolean
  /** `/blog`: only what stands there; empty for all. */
  readonly path: string
}

export interface DomainFilter {
  /** Hosts of the lists, for engines. */
  readonly allowedHosts: readonly string[]
  readonly deniedHosts: readonly string[]
  allows(url: URL): boolean
}

const MOST_DOMAINS = 100
const NOT_A_DOMAIN = 'must be a domain, such as example.com'

/**
 * A domain stands for itself and all below it, compared label by label in ASCII; `*.` before it for those below alone, a
 * path behind it for the pages there. Denied wins.
 */
export function domainFilter(
  allowed: readonly string[] = [],
  denied: readonly string[] = [],
): DomainFilter | DomainFault {
  const lists = { allowed: allowed.map(ruleOf), denied: denied.map(ruleOf) }
  for (const list of ['allowed', 'denied'] as const) {
    if (lists[list].length > MOST_DOMAINS)
      return { list, index: MOST_DOMAINS, problem: `is one of more than ${MOST_DOMAINS} domains` }
    const index = lists[list].indexOf(null)
    if (index !== -1) return { list, index, problem: NOT_A_DOMAIN }
  }
  const [yes, no] = [lists.allowed as DomainRule[], lists.denied as DomainRule[]]
  const index = yes.findIndex((rule) => no.some((other) => covers(other, rule)))
  if (index !== -1) return { list: 'allowed', index, problem: 'is a domain that the other list denies' }
  return {
    allowedHosts: yes.map(({ host }) => host),
    deniedHosts: no.filter(({ isBelow, path }) => !isBelow && path === '').map(({ host }) => host),
    allows: (url) =>
      (yes.length === 0 || yes.some((rule) => matches(rule, url))) && !no.some((rule) => matches(rule, url)),
  }
}

/** Null for what names no domain. */
function ruleOf(text: string): DomainRule | null {
  const isBelow = text.startsWith('*.')
  const rest = isBelow ? text.slice(2) : text.replace(/^https?:\/\//i, '')
  if (rest.length > 1024 || /[\s@?#\\*]/.test(rest) || !URL.canParse(`http://${rest}`)) return null
  const { hostname, pathname, port } = new URL(`http://${rest}`)
  const host = bareHost(hostname)
  if (host === '' || port !== '' || host.includes('..')) return null
  return { host, isBelow, path: pathname.replace(/\/+$/, '') }
}

/** A name with a dot at its end is the same name. */
function bareHost(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '')
}

function matches(rule: DomainRule, url: URL): boolean {
  return isWithin(bareHost(url.hostname), rule) && isUnder(url.pathname, rule.path)
}

function isWithin(host: string, { host: domain, isBelow }: DomainRule): boolean {
  if (host === domain) return !isBelow
  // 10.1.2.3 is not below 2.3.
  return isIP(host) === 0 && host.endsWith(`.${domain}`)
}

function isUnder(pathname: string, path: string): boolean {
  return path === '' || pathname === path || pathname.startsWith(`${path}/`)
}

/** Whether all that `inner` stands for is denied by `outer`. */
function covers(outer: DomainRule, inner: DomainRule): boolean {
  const isHostCovered =
    outer.host === inner.host ? !outer.isBelow || inner.isBelow : isWithin(inner.host, outer)
  return isHostCovered && isUnder(inner.path, outer.path)
}
