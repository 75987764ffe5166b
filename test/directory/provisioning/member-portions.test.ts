/** Groups of many members: changed in transactions of bounded size, with the outcome of one. */
import fc from 'fast-check'
import { test } from 'tap'
import type { Clock } from '../../../src/base/clock.js'
import { Fault } from '../../../src/base/fault.js'
import { groupsKind } from '../../../src/directory/provisioning/groups.js'
import { portionsOf } from '../../../src/directory/provisioning/member-portions.js'
import type { Visit } from '../../../src/directory/provisioning/visit.js'
import { ScimError } from '../../../src/directory/scim/errors.js'
import type {
  DirectoryGroup,
  DirectoryGroups,
  DirectoryStore,
  MembershipChange,
} from '../../../src/store/directory-store.js'
import { directoryGroupOf } from '../../support/data/directory.js'
import { groupBody, patchBody } from '../../support/schemas/scim-bodies.js'

const AT = 1_000

function apply(members: Map<string, string | undefined>, changes: readonly MembershipChange[]): void {
  for (const change of changes) {
    if (change.op === 'remove') for (const id of change.members) members.delete(id)
    else {
      if (change.op === 'replace')
        for (const id of [...members.keys()]) if (!change.members.includes(id)) members.delete(id)
      for (const id of change.members) members.set(id, change.displays?.get(id) ?? members.get(id))
    }
  }
}

/** One group of a store that tells how many members each of its transactions was asked to touch. */
function storeOf(count: number, between: (store: ReturnType<typeof storeOf>) => void = () => {}) {
  const store = {
    head: directoryGroupOf(1, { memberCount: count }) as DirectoryGroup | null,
    members: new Map<string, string | undefined>(idsOf(count).map((id) => [id, undefined])),
    touched: [] as number[],
    bump(): void {
      store.head = { ...store.head!, version: store.head!.version + 1, memberCount: store.members.size }
    },
    groups: {
      group: () => store.head,
      membershipsOf: (groupId: string, offset: number, limit: number) => {
        const all = [...store.members].sort(([a], [b]) => (a < b ? -1 : 1))
        const page = all.slice(offset, offset + limit)
        const entries = page.map(([memberId, display]) => {
          return { groupId, memberId, addedAt: AT, ...(display !== undefined && { display }) }
        })
        return { entries, total: all.length }
      },
      addGroup: async (group: DirectoryGroup, ids: readonly string[]) => {
        store.head = { ...group, memberCount: ids.length }
        store.members = new Map(ids.map((id) => [id, undefined]))
        store.touched.push(ids.length)
        return { done: store.head }
      },
      changeGroup: async (_id: string, change: Parameters<DirectoryGroups['changeGroup']>[1]) => {
        between(store)
        if (store.head === null) return { absent: true }
        const changed = change(store.head)
        if ('refused' in changed) return changed
        store.touched.push(changed.members.reduce((sum, { members }) => sum + members.length, 0))
        apply(store.members, changed.members)
        store.head = changed.group
        store.bump()
        return { done: store.head }
      },
      removeGroup: async () => {
        store.head = null
        return { absent: true }
      },
    },
  }
  return store
}

const idsOf = (count: number, first = 0): string[] =>
  Array.from({ length: count }, (_, n) => `u${String(first + n).padStart(6, '0')}`)
const named = (ids: readonly string[]) => ids.map((value) => ({ value }))

const { organizationId, connectionId, id } = directoryGroupOf(1)
const visit = (more: Partial<Visit> = {}): Visit => ({
  scope: { organizationId, connectionId },
  actor: { actor: 'c', requestId: 'r', address: '' },
  quirks: new Set(),
  allows: () => true,
  isOver: () => false,
  ...more,
})

function kindOf({ groups }: ReturnType<typeof storeOf>) {
  const members = { factsOf: () => ({ organizationId, connectionId, active: true, deleted: false }) }
  const directory = { groups, members } as unknown as DirectoryStore
  return groupsKind({ directory, clock: { unixSeconds: () => AT } as Clock, baseUrl: '' })
}

test('portions come to what the changes come to', async (t) => {
  const ids = fc.uniqueArray(fc.nat(30).map((n) => `u${n}`))
  const change = fc.record({
    op: fc.constantFrom('add', 'remove', 'replace'),
    members: ids,
    shown: fc.boolean(),
  })
  const changes = fc.array(change, { maxLength: 5 }).map((list) =>
    list.map(({ op, members, shown }, n): MembershipChange => {
      const displays = new Map(members.map((each) => [each, `${each} by ${n}`]))
      return op === 'remove' || !shown ? { op, members } : { op, members, displays }
    }),
  )
  await fc.assert(
    fc.asyncProperty(ids, changes, async (present, list) => {
      const store = storeOf(0)
      store.members = new Map(present.map((each) => [each, undefined]))
      const whole = new Map(store.members)
      apply(whole, list)
      apply(store.members, await portionsOf(store.groups, { id }, list))
      if (JSON.stringify([...store.members.keys()].sort()) !== JSON.stringify([...whole.keys()].sort()))
        throw new Error('other members than at once')
    }),
    { numRuns: 300 },
  )
  t.pass()
})

test('no transaction touches more than 500 members, however many a body names or clears', async (t) => {
  const store = storeOf(3_000)
  const kind = kindOf(store)
  const put = await kind.replace(
    visit(),
    id,
    groupBody({ displayName: 'new', members: named(idsOf(3_000, 1_000)) }),
  )
  t.match(put, { displayName: 'new', memberCount: 3_000 })
  t.strictSame([...store.members.keys()].sort(), idsOf(3_000, 1_000))
  await kind.patch(visit(), id, patchBody({ op: 'remove', path: 'members' }))
  t.equal(store.members.size, 0)
  const added = patchBody({ op: 'add', path: 'members', value: named(idsOf(1_700)) })
  t.match(await kind.patch(visit(), id, added), { memberCount: 1_700 })
  t.match(await kind.create(visit(), groupBody({ displayName: 'g', members: named(idsOf(1_200)) })), {
    memberCount: 1_200,
  })
  t.ok(Math.max(...store.touched) <= 500, `${store.touched}`)
  t.equal(store.touched.length, 2 + 2 + 6 + 4 + 1 + 3, 'those of whom nothing is said anew are in none')
})

test('a replacement that others come into ends as it says, and by its own If-Match', async (t) => {
  let others = 3
  const store = storeOf(2_000, (own) => {
    if (own.touched.length < 2 || others-- <= 0) return
    own.members.set('stranger', undefined)
    own.bump()
  })
  const allows = (version: number): boolean => version === 1
  const body = groupBody({ displayName: 'g', members: named(idsOf(1_200)) })
  t.match(await kindOf(store).replace(visit({ allows }), id, body), { memberCount: 1_200 })
  t.strictSame([...store.members.keys()].sort(), idsOf(1_200))
  t.match(await kindOf(store).replace(visit({ allows }), id, body), { status: 412 })
})

test('a group that others change without end is given up, and one that cannot be filled is taken away', async (t) => {
  const store = storeOf(0, (own) => own.bump())
  const body = groupBody({ displayName: 'g', members: named(idsOf(1_200)) })
  await t.rejects(
    kindOf(store).create(visit(), body),
    new Fault('unavailable', { retryAfter: 1, detail: 'others keep changing the group' }),
  )
  t.equal(store.head, null)
  const gone = storeOf(2_000, (own) => {
    if (own.touched.length > 1) own.head = null
  })
  const cleared = await kindOf(gone).patch(visit(), id, patchBody({ op: 'remove', path: 'members' }))
  t.ok(cleared instanceof ScimError && cleared.status === 404)
})
