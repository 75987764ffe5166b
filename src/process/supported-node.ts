/** Which Node runs the programs. Imports nothing: it is asked before anything that an old Node cannot read is loaded. */

/** The oldest that has what the programs are built for (`engines` in package.json). */
const OLDEST = [20, 19] as const

/**
 * What to say where Node is too old, null where it is not. Whether the native server has a binary for a Node that is
 * new enough is known when it loads, and said there.
 */
export function unsupportedNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null
  const remedy = 'run Node 22, or Node 24 where glibc is 2.38 or later (Debian 13, Ubuntu 24.04)'
  return `Node ${version} is older than ${OLDEST.join('.')}: ${remedy}`
}
