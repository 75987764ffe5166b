/**
 * Changes of many members of a group, in transactions of bounded size. One transaction of 40,000 members would hold the
 * event loop and the store for half a second, and in a fleet make every replica load all records anew. Who is in a group
 * in between was in it before or is in it after; a request that is broken off and sent again goes on where it was.
 */
import { TurnSlices } from '../../base/turn-slices.js'
import type {
  DirectoryGroup,
  DirectoryGroups,
  GroupMembership,
  MembershipChange,
} from '../../store/directory-store.js'

/** Members that one transaction touches at most: some milliseconds. */
const AT_ONCE = 500

/** Whether a change is for one transaction. */
export function isForOne(group: DirectoryGroup | null, changes: readonly MembershipChange[]): boolean {
  let touched = 0
  for (const { op, members } of changes) {
    touched += members.length
    if (op === 'replace') touched += group?.memberCount ?? 0
  }
  return touched <= AT_ONCE
}

/** What comes to the same, each for one transaction; those who go first. None where nothing changes. */
export async function portionsOf(
  groups: Pick<DirectoryGroups, 'membershipsOf'>,
  group: Pick<DirectoryGroup, 'id'>,
  changes: readonly MembershipChange[],
): Promise<MembershipChange[]> {
  const wanted = new Map<string, boolean>()
  const displays = new Map<string, string>()
  let replacesAll = false
  for (const change of changes) {
    if (change.op === 'replace') {
      wanted.clear()
      replacesAll = true
    }
    for (const id of change.members) wanted.set(id, change.op !== 'remove')
    if (change.op !== 'remove') for (const [id, display] of change.displays ?? []) displays.set(id, display)
  }
  if (replacesAll) await compareWithPresent(groups, group, wanted, displays)
  const named = (shallBe: boolean): string[] =>
    [...wanted].filter(([, isWanted]) => isWanted === shallBe).map(([id]) => id)
  return [
    ...pieces(named(false)).map((members) => ({ op: 'remove', members }) as const),
    ...pieces(named(true)).map(
      (members) => ({ op: 'add', members, displays: only(displays, members) }) as const,
    ),
  ]
}

/** Adds to `wanted` who goes, and takes those away who are in the group as they are wanted. */
async function compareWithPresent(
  groups: Pick<DirectoryGroups, 'membershipsOf'>,
  { id: groupId }: Pick<DirectoryGroup, 'id'>,
  wanted: Map<string, boolean>,
  displays: ReadonlyMap<string, string>,
): Promise<void> {
  for await (const page of membersInTurns(groups, groupId)) {
    for (const { memberId, display } of page) {
      if (wanted.get(memberId) !== true) wanted.set(memberId, false)
      else if ((displays.get(memberId) ?? display) === display) wanted.delete(memberId)
    }
  }
}

/** Members that are read in one go. */
const READ_AT_ONCE = 500

/** Everybody who is in a group, in turns of the event loop. */
export async function* membersInTurns(
  groups: Pick<DirectoryGroups, 'membershipsOf'>,
  groupId: string,
): AsyncGenerator<readonly GroupMembership[]> {
  const slices = new TurnSlices()
  for (let offset = 0; ; offset += READ_AT_ONCE) {
    const { entries } = groups.membershipsOf(groupId, offset, READ_AT_ONCE)
    yield entries
    if (entries.length < READ_AT_ONCE) return
    if (slices.isOver) await slices.next()
  }
}

function pieces(ids: readonly string[]): (readonly string[])[] {
  const found: (readonly string[])[] = []
  for (let from = 0; from < ids.length; from += AT_ONCE) found.push(ids.slice(from, from + AT_ONCE))
  return found
}

function only(
  displays: ReadonlyMap<string, string>,
  members: readonly string[],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const id of members) {
    const display = displays.get(id)
    if (display !== undefined) found.set(id, display)
  }
  return found
}
