/** Versions that a request names (RFC 7644 section 3.14, RFC 9110 section 13.1). */

/** Tags beyond which nobody asks. */
const LONGEST = 4_096

/** Whether a header names a version; null when there is no header. Tags are compared weakly: ours are weak. */
function namedVersions(header: string): ((version: number) => boolean) | null {
  const text = header.trim()
  if (text === '') return null
  if (text === '*') return () => true
  const tags = new Set(text.slice(0, LONGEST).split(',').map(opaqueTag))
  return (version) => tags.has(String(version))
}

function opaqueTag(tag: string): string {
  return /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(tag)?.[1] ?? ''
}

/** Whether a resource of a version may be changed. */
export function changeCondition(ifMatch: string, ifNoneMatch: string): (version: number) => boolean {
  const [wanted, unwanted] = [namedVersions(ifMatch), namedVersions(ifNoneMatch)]
  return (version) => (wanted?.(version) ?? true) && !(unwanted?.(version) ?? false)
}

/** Whether the caller has the resource of this version already. */
export function isKnown(ifNoneMatch: string, version: number): boolean {
  return namedVersions(ifNoneMatch)?.(version) ?? false
}
