/** Which bucket a client address draws from. */
import { isIPv6 } from 'node:net'

/**
 * The address itself; of IPv6 the first 64 bits, because every subscriber has at least that many addresses and could
 * otherwise use each of them once.
 */
export function addressBucket(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const front = splitGroups(head)
  const back = tail === undefined ? [] : splitGroups(tail)
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groupCount(front) - groupCount(back))
  const all = [...front, ...Array<string>(missing).fill('0'), ...back]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

function splitGroups(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

/** An IPv4 address at the end stands for two groups. */
function groupCount(parts: readonly string[]): number {
  return parts.length + (parts.at(-1)?.includes('.') === true ? 1 : 0)
}
