import { ValidationIssue } from '../base/fault.js'
import { type TextField, UNDECODABLE } from './params.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A UUID that may be absent, in lower case. */
export function optionalUuidParam(description: string): TextField<string | null> {
  return {
    required: false,
    schema: { type: 'string', format: 'uuid', description },
    read: (raw, loc) => {
      if (raw === undefined) return null
      if (raw === UNDECODABLE || !UUID.test(raw))
        return new ValidationIssue(loc, 'other', undefined, 'must be a UUID')
      return raw.toLowerCase()
    },
  }
}

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** One of a few words; `fallback` when absent. */
export function choiceParam<T extends string, F>(
  words: readonly T[],
  fallback: F,
  description: string,
): TextField<T | F> {
  return {
    required: false,
    schema: { type: 'string', enum: words, description },
    read: (raw, loc) => {
      if (raw === undefined) return fallback
      const word = words.find((each) => each === raw)
      return word ?? new ValidationIssue(loc, 'other', undefined, `must be one of ${words.join(', ')}`)
    },
  }
}
