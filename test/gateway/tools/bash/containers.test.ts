/** Whose containers are whose, which go when there are too many, and what a machine must have for them. */
import { test } from 'tap'
import type { LocalSandbox } from '../../../../src/gateway/tools/bash/local/local-sandbox.js'
import { missingForSandbox } from '../../../../src/gateway/tools/bash/local/start-check.js'
import { type ContainerOwner, SandboxFailure } from '../../../../src/gateway/tools/bash/sandbox.js'
import { LIMITS, openSandboxStage, whyNoSandbox } from '../../../support/tools/local-sandbox.js'

const OWNER: ContainerOwner = { organizationId: 'org-1', workspaceId: 'ws-1' }
const COLLEAGUE: ContainerOwner = { organizationId: 'org-1', workspaceId: 'ws-2' }
const STRANGER: ContainerOwner = { organizationId: 'org-2', workspaceId: 'ws-1' }
const NAME = 'secret.txt'

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  return error instanceof SandboxFailure ? error.code : `went well, or a defect: ${error}`
}

async function filled(sandbox: LocalSandbox, owner: ContainerOwner): Promise<string> {
  const { id } = await sandbox.create(owner)
  await sandbox.put(owner, id, NAME, Buffer.from(owner.organizationId))
  return id
}

test('no container is read, written, used or deleted by another workspace', async (t) => {
  const stage = await openSandboxStage()
  t.teardown(() => stage.close())
  const { sandbox } = stage
  const id = await filled(sandbox, OWNER)
  const command = { command: 'cat *', timeoutMs: 1_000, maxOutputBytes: 1_024, allowedDomains: [] }
  for (const owner of [COLLEAGUE, STRANGER]) {
    t.equal(await codeOf(sandbox.get(owner, id, NAME, 100)), 'container_expired')
    t.equal(await codeOf(sandbox.put(owner, id, NAME, Buffer.alloc(1))), 'container_expired')
    t.equal(await codeOf(sandbox.run(owner, id, command, new AbortController().signal)), 'container_expired')
    t.equal(await codeOf(sandbox.delete(owner, id)), 'container_expired')
  }
  for (const odd of ['', '.', '..', '../..', `../${id}`, `${id}/`, 'x'.repeat(21)]) {
    t.equal(await codeOf(sandbox.get(OWNER, odd, NAME, 100)), 'container_expired', JSON.stringify(odd))
  }
  t.equal((await sandbox.get(OWNER, id, NAME, 100)).toString(), 'org-1', 'and it is as it was')
  t.equal(await codeOf(sandbox.get(OWNER, id, `../${NAME}`, 100)), 'not_found')
  t.equal(await codeOf(sandbox.get(OWNER, id, NAME, 4)), 'quota_exceeded')
  await sandbox.delete(OWNER, id)
  t.equal(await codeOf(sandbox.get(OWNER, id, NAME, 100)), 'container_expired')
})

test('an organization beyond its share loses its own oldest container, and all together the largest holder', async (t) => {
  let now = 1_000_000
  const stage = await openSandboxStage({
    containers: { lifetimeMs: 60_000, perOrganization: 3, inAll: 4 },
    unixMs: () => now,
  })
  t.teardown(() => stage.close())
  const { sandbox } = stage
  const create = async (owner: ContainerOwner): Promise<string> => {
    now += 1
    return filled(sandbox, owner)
  }
  const isThere = async (owner: ContainerOwner, id: string): Promise<boolean> =>
    (await codeOf(sandbox.get(owner, id, NAME, 100))) !== 'container_expired'
  const strangers = await create(STRANGER)
  const own = [await create(OWNER), await create(COLLEAGUE), await create(OWNER)]
  own.push(await create(OWNER))
  t.same(await Promise.all(own.map((id, at) => isThere(at === 1 ? COLLEAGUE : OWNER, id))), [
    false,
    true,
    true,
    true,
  ])
  t.ok(await isThere(STRANGER, strangers), 'others lose nothing')
  const third: ContainerOwner = { organizationId: 'org-3', workspaceId: 'ws-3' }
  t.ok(await isThere(third, await create(third)))
  t.notOk(await isThere(COLLEAGUE, own[1]!), 'whoever holds most makes room')
  t.ok(await isThere(STRANGER, strangers))
  now += 60_000
  t.notOk(await isThere(STRANGER, strangers), 'over')
})

test('a file that does not fit leaves the container as it was', async (t) => {
  const stage = await openSandboxStage({ limits: { ...LIMITS, diskBytes: 4_096, files: 1 } })
  t.teardown(() => stage.close())
  const id = await filled(stage.sandbox, OWNER)
  t.equal(await codeOf(stage.sandbox.put(OWNER, id, 'large', Buffer.alloc(8_000))), 'quota_exceeded')
  t.equal((await stage.sandbox.get(OWNER, id, NAME, 100)).toString(), 'org-1')
})

const why = await whyNoSandbox()
const hasSandbox = { skip: why ?? false }
test('a file with the name of a folder is refused, and the container lives on', hasSandbox, async (t) => {
  const stage = await openSandboxStage()
  t.teardown(() => stage.close())
  const id = await filled(stage.sandbox, OWNER)
  await stage.run('mkdir data; echo kept >data/x; ln -s data link', { container: id })
  t.equal(await codeOf(stage.sandbox.put(OWNER, id, 'data', Buffer.from('new'))), 'unavailable')
  await stage.sandbox.put(OWNER, id, 'link', Buffer.from('new'))
  t.equal((await stage.run('cat data/x link', { container: id })).stdout, 'kept\nnew')
})

const OPTIONS = { uid: process.getuid?.() === 0 ? 64_322 : null, limits: LIMITS, hidden: [] }
const started = (script: string) =>
  missingForSandbox({ ...OPTIONS, commandLine: ['/bin/bash', '-c', script] })

test('a machine that cannot hold a sandbox is told what is missing', hasSandbox, async (t) => {
  t.same(await missingForSandbox(OPTIONS), [], 'here nothing is')
  t.match(await started('echo "bwrap: No permissions to create new namespace" >&2; exit 1'), [
    /could not be started: bwrap: No permissions/,
  ])
  t.match(await started('exit 127'), [/could not be started: it did not answer/])
  t.match(await missingForSandbox({ ...OPTIONS, commandLine: ['/nowhere/bwrap'] }), [
    /could not be started.*ENOENT/,
  ])
  t.match(await missingForSandbox({ ...OPTIONS, hidden: ['/usr/share'] }), [
    /the folder \/usr\/share .*: move it/,
  ])
})

test('the look at a machine ends when nobody wants it any more', hasSandbox, async (t) => {
  const leaving = new AbortController()
  const hangs = ['/bin/bash', '-c', 'echo begun >&2; exec sleep 1000']
  const looking = missingForSandbox({ ...OPTIONS, commandLine: hangs, signal: leaving.signal })
  leaving.abort()
  t.match(await looking, [/could not be started/])
})

/** What a sandbox tells of itself that holds nothing of what is promised. */
const BARE = `
for name in /proc/self/ns/*; do echo "ns \${name##*/} $(readlink $name)"; done
echo "env SLUICE_API_KEY"; echo nested
echo "status CapEff: 00000000a80425fb"; echo "status Seccomp: 0"; echo "status Uid: 0 0 0 0"
echo "mount tmpfs /tmp tmpfs rw,nosuid 0 0"; echo "limit Max processes unlimited unlimited processes"`

test('each thing that a sandbox lacks is named', hasSandbox, async (t) => {
  const missing = (await started(BARE)).join('\n')
  for (const part of [
    ...['namespace user', 'namespace net', 'namespace pid', 'disable-userns', 'environment is not empty'],
    ...[
      'seccomp',
      'no_new_privs',
      'capabilities are left',
      'no uid of its own',
      'written to /tmp has no bound',
    ],
    ...['max cpu time', 'max processes', 'max file size', 'max open files', 'max data size'],
  ]) {
    t.match(missing, part)
  }
})
