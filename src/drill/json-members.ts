/** Readers of what a server sent: a value of the expected shape, or nothing. */
export type JsonMembers = Readonly<Record<string, unknown>>

const NONE: JsonMembers = Object.freeze({})

/** The value of a JSON text as an object; null when it is none. */
export function parseMembers(text: string): JsonMembers | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonMembers)
      : null
  } catch {
    return null
  }
}

/** A member that is an object; one without members when it is not. */
export function objectMember(members: JsonMembers, name: string): JsonMembers {
  const value = members[name]
  return typeof value === 'object' && value !== null ? (value as JsonMembers) : NONE
}

export function listMember(members: JsonMembers, name: string): readonly JsonMembers[] {
  const value = members[name]
  return Array.isArray(value)
    ? value.map((each) => (typeof each === 'object' && each !== null ? each : NONE))
    : []
}

/** `''` when it is no text. */
export function textMember(members: JsonMembers, name: string): string {
  const value = members[name]
  return typeof value === 'string' ? value : ''
}

/** NaN when it is no number. */
export function numberMember(members: JsonMembers, name: string): number {
  const value = members[name]
  return typeof value === 'number' ? value : Number.NaN
}
