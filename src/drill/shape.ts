/** Readers of what a server sent: a value of the expected shape, or nothing. */
export type Members = Readonly<Record<string, unknown>>

const NONE: Members = Object.freeze({})

/** The value of a JSON text as an object; null when it is none. */
export function membersIn(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : null
  } catch {
    return null
  }
}

/** A member that is an object; one without members when it is not. */
export function objectAt(members: Members, name: string): Members {
  const value = members[name]
  return typeof value === 'object' && value !== null ? (value as Members) : NONE
}

export function listAt(members: Members, name: string): readonly Members[] {
  const value = members[name]
  return Array.isArray(value)
    ? value.map((each) => (typeof each === 'object' && each !== null ? each : NONE))
    : []
}

/** `''` when it is no text. */
export function textAt(members: Members, name: string): string {
  const value = members[name]
  return typeof value === 'string' ? value : ''
}

/** NaN when it is no number. */
export function numberAt(members: Members, name: string): number {
  const value = members[name]
  return typeof value === 'number' ? value : Number.NaN
}
