import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import type { Principal } from '../../src/base/principal.js'
import { workspaceFiles } from '../../src/compose/workspace-files.js'
import { idOf, organizationOf, workspaceOf } from '../support/data/accounts.js'
import { openStore } from '../support/data/open-store.js'
import { type Lifetime, tempFolder } from '../support/data/temp-folder.js'

/** Two organizations; the first one has two workspaces. */
async function twoOrganizations(t: Lifetime) {
  const folder = tempFolder(t)
  const store = openStore(t, folder)
  for (const n of [1, 2])
    await store.accounts.addOrganization({ organization: organizationOf(n), workspaces: [], keys: [] })
  for (const [workspace, organization] of [
    [11, 1],
    [12, 1],
    [21, 2],
  ] as const)
    await store.accounts.addWorkspace(workspaceOf(workspace, idOf(organization)))
  return { folder, store, filesOf: workspaceFiles(store) }
}

const caller = (organization: number, workspace: number | null): Principal => ({
  keyHash: 'k',
  kind: workspace === null ? 'management' : 'workspace',
  organizationId: idOf(organization),
  workspaceId: workspace === null ? null : idOf(workspace),
  operator: false,
})

test('what a caller creates is found, listed, read and removed by its workspace alone', async (t) => {
  const { store, filesOf } = await twoOrganizations(t)
  const own = filesOf(caller(1, 11))
  const file = await own.create('a.txt', Buffer.from('what it says'))
  t.match(file, { filename: 'a.txt', mimeType: 'text/plain', sizeBytes: 12 })
  t.equal(store.files.file(file.id)!.origin, 'created', 'so that it can be downloaded')
  t.same(own.find(file.id), file)
  t.match(own.list(10), [file])
  t.equal((await own.read(file.id, 12))!.bytes.toString(), 'what it says')
  t.equal(await own.read(file.id, 11), null, 'larger than what was asked for')
  for (const other of [caller(1, 12), caller(2, 21), caller(2, null)]) {
    const others = filesOf(other)
    t.equal(others.find(file.id), null)
    t.same(others.list(10), [])
    t.equal(await others.read(file.id, 1_000), null)
    t.equal(await others.remove(file.id), false)
  }
  t.equal(await own.remove(file.id), true)
  t.equal(own.find(file.id), null)
  t.equal(await own.remove(file.id), false)
})

test('a management key has the files of its organization’s first workspace', async (t) => {
  const { filesOf } = await twoOrganizations(t)
  const file = await filesOf(caller(1, null)).create('a.txt', Buffer.from('x'))
  t.same(filesOf(caller(1, 11)).find(file.id), file)
  await t.rejects(filesOf(caller(3, null)).create('a.txt', Buffer.from('x')), /internal/)
  t.same(filesOf(caller(3, null)).list(10), [])
})

test('a file whose content has gone is none that can be read', async (t) => {
  const { folder, filesOf } = await twoOrganizations(t)
  const files = filesOf(caller(1, 11))
  const { id } = await files.create('a.txt', Buffer.alloc(300_000, 'a'))
  t.equal((await files.read(id, 1_000_000))!.bytes.length, 300_000)
  rmSync(join(folder, 'files', id.slice(-2), id))
  t.equal(await files.read(id, 1_000_000), null)
  t.equal(await files.read('file_../../data.mdb', 1_000_000), null, 'what is no id')
})

test('names of models keep neither folders nor control characters', async (t) => {
  const { filesOf } = await twoOrganizations(t)
  const files = filesOf(caller(1, 11))
  const nameOf = async (name: string): Promise<string> => (await files.create(name, Buffer.of(1))).filename
  t.equal(await nameOf('../../etc/passwd'), 'passwd')
  t.equal(await nameOf('a\r\nb.txt'), 'a__b.txt')
  t.equal(await nameOf('folder/'), 'file')
  t.equal((await nameOf('x'.repeat(1_000))).length, 255)
})
