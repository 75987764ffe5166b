import { isObject, type Obj } from './json-values.js'

/** Entries that are walked in one step, and characters that are read or written in one. */
const ENTRIES_PER_STEP = 8
const CHARACTERS_PER_STEP = 16

/** Steps for walking a list or the members of an object. */
export function stepsOfEntries(entries: number): number {
  return 1 + Math.floor(entries / ENTRIES_PER_STEP)
}

/** Steps for making, copying or comparing a text. */
export function stepsOfText(characters: number): number {
  return 1 + Math.floor(characters / CHARACTERS_PER_STEP)
}

/** Entries of one schema object: its keywords, and what stands in their lists and maps. Not what lies deeper. */
export function entriesOf(schema: Obj): number {
  let entries = 0
  for (const name of Object.keys(schema)) entries += 1 + entriesWithin(schema[name])
  return entries
}

function entriesWithin(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return isObject(value) ? Object.keys(value).length : 0
}

/** Characters of a value as JSON, about: names and texts, and one for everything else. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + charactersOf(item), 1)
  if (!isObject(value)) return 1
  let sum = 1
  for (const name of Object.keys(value)) sum += name.length + charactersOf(value[name])
  return sum
}
