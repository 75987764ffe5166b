/** All that the table of the directory holds, and whether it is of one piece (src/store/records/directory-tables.ts). */
import type { DirectoryConnection, DirectoryGroup, Member } from '../../../src/store/directory-store.js'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { exactKey, foldedKey } from '../../../src/store/records/directory-tables.js'

type Contents = ReadonlyMap<string, string>

/** Of the embedded store in a folder, which may be open elsewhere. */
export async function contentsOfDirectory(folder: string): Promise<Contents> {
  const env = new LmdbEnvironment(folder)
  const table = env.byteTable('directory')
  const contents = new Map<string, string>()
  for (const entries of env.entriesInBatches(table, 1_000)) {
    for (const { key, value } of entries) contents.set(key.toString(), value.toString())
  }
  await env.close()
  return contents
}

export const removalsUnderWay = (contents: Contents): number => ofKind(contents, 'z').length

/**
 * What does not fit together: everything but the records themselves follows from them, and is worked out anew here.
 * Empty for a store whose changes are whole, and from which everything has gone that was removed.
 */
export function breachesOf(contents: Contents): string[] {
  const expected = new Map<string, string>()
  for (const text of ofKind(contents, 'c')) expectConnection(expected, JSON.parse(text))
  for (const text of ofKind(contents, 'm')) expectMember(expected, JSON.parse(text))
  for (const text of ofKind(contents, 'g')) expectGroup(expected, contents, JSON.parse(text))
  for (const [key, text] of contents) if ('hHwqv'.includes(key[0]!)) expected.set(key, text)
  const lists = new Map<string, number>()
  for (const key of expected.keys()) {
    if (!'laxGXD'.includes(key[0]!)) continue
    const prefix = key.slice(0, key.lastIndexOf('\0') + 1)
    lists.set(prefix, (lists.get(prefix) ?? 0) + 1)
  }
  for (const [prefix, count] of lists) expected.set(`n${prefix}`, String(count))
  const keys = new Set([...expected.keys(), ...contents.keys()])
  return [...keys]
    .filter((key) => expected.get(key) !== contents.get(key))
    .map((key) => `${JSON.stringify(key)} is ${contents.get(key)} and not ${expected.get(key)}`)
}

function ofKind(contents: Contents, kind: string): string[] {
  return [...contents].filter(([key]) => key[0] === kind).map(([, value]) => value)
}

function expectConnection(expected: Map<string, string>, connection: DirectoryConnection): void {
  const { id, organizationId, tokens } = connection
  expected.set(`c${id}\0`, JSON.stringify(connection))
  expected.set(`o${organizationId}\0${id}\0`, id)
  for (const { hash } of tokens) expected.set(`t${hash}\0`, id)
}

function expectMember(expected: Map<string, string>, member: Member): void {
  const { id, organizationId, connectionId, active, deletedAt, userName, externalId } = member
  const state = deletedAt !== null ? 'deleted' : active ? 'active' : 'inactive'
  expected.set(`m${id}\0`, JSON.stringify(member))
  expected.set(`s${id}\0`, `${state}\0${organizationId}\0${connectionId ?? ''}`)
  if (deletedAt !== null) return
  const place = connectionId ?? organizationId
  expected.set(`l${place}\0${id}`, id)
  expected.set(`a${organizationId}\0${id}`, id)
  expected.set(`u${place}\0${foldedKey(userName)}\0`, id)
  if (externalId !== null) expected.set(`x${place}\0${exactKey(externalId)}\0${id}`, id)
}

function expectGroup(expected: Map<string, string>, contents: Contents, group: DirectoryGroup): void {
  const { id, connectionId, displayName, externalId } = group
  expected.set(`G${connectionId}\0${id}`, id)
  expected.set(`D${connectionId}\0${foldedKey(displayName)}\0${id}`, id)
  if (externalId !== null) expected.set(`X${connectionId}\0${exactKey(externalId)}\0${id}`, id)
  const prefix = `e${connectionId}\0${id}\0`
  let memberCount = 0
  for (const [key, text] of contents) {
    if (!key.startsWith(prefix)) continue
    memberCount++
    expected.set(key, text)
    expected.set(`b${connectionId}\0${key.slice(prefix.length)}${id}\0`, id)
  }
  expected.set(`g${id}\0`, JSON.stringify({ ...group, memberCount }))
}
