import { type Test, test } from 'tap'
import { hashKey } from '../../src/identity/api-keys.js'
import type { Store } from '../../src/store/store.js'
import { hashOf, idOf, organizationOf } from '../support/data/accounts.js'
import { foundedStore } from '../support/data/founded-store.js'
import { headerOf, issuerKey, tokenOf } from '../support/data/subject-tokens.js'
import { IssuerServer } from '../support/providers/issuer-server.js'
import { type CommandRun, runFederation } from './run-command.js'

interface Bench {
  /** The store as a server sees it that runs beside the command. */
  readonly store: Store
  readonly keyHash: string
  run(...args: string[]): Promise<CommandRun>
  /** The same with a text on standard input. */
  fed(input: string, ...args: string[]): Promise<CommandRun>
}

async function bench(t: Test): Promise<Bench> {
  const { folder, store, apiKey } = await foundedStore(t)
  return {
    store,
    keyHash: hashKey(apiKey),
    run: (...args) => runFederation(folder, args),
    fed: (input, ...args) => runFederation(folder, args, input),
  }
}

const ISSUER = ['issuers', 'create', '--name', 'x', '--url', 'https://a.example']

test('from an issuer to a token that passes, and what an audit tells of it', async (t) => {
  const { store, keyHash, run, fed } = await bench(t)
  const server = await IssuerServer.start(t)
  const key = issuerKey('ES256', 'k1')
  server.keys = [key.jwk]
  const issuer = await run('issuers', 'create', '--name', 'CI', '--url', server.url)
  t.match(issuer, { code: 0, stdout: /^[0-9a-f-]{36}\n$/, stderr: `Trusted from now on: ${server.url}\n` })
  const issuerId = issuer.stdout.trim()
  const wish = ['--issuer', issuerId, '--audience', 'sluice', '--key', keyHash, '--subject', 'job']
  const checks = ['--condition', '"a" in scopes', '--scopes', 'a', '--token-type', 'JWT']
  const policy = await run('policies', 'create', ...wish, ...checks)
  t.match(policy, { code: 0, stderr: 'Workloads send this id as federation_policy_id.\n' })
  const policyId = policy.stdout.trim()
  t.match(store.federation.policies.get(policyId), {
    issuerId,
    subject: 'job',
    audience: 'sluice',
    condition: '"a" in scopes',
    apiKeyHash: keyHash,
    enabled: true,
    claimChecks: { scopes: 'a', tokenType: 'JWT' },
  })
  t.match((await run('issuers', 'list')).stdout, `${issuerId}  ${server.url}  discovery  CI\n`)
  t.match((await run('policies', 'list')).stdout, `${policyId}  enabled  ${issuerId}  sluice    job`)

  const exp = Math.floor(Date.now() / 1000) + 60
  const claims = { iss: server.url, sub: 'job', aud: 'sluice', exp, scopes: ['a'], token_type: 'JWT' }
  const good = await fed(`${tokenOf(headerOf(key), claims, key)}\n`, 'test', policyId)
  t.match(good, { code: 0, stderr: 'An exchange would give a token.\n' })
  t.match(good.stdout, /^STEP +OUTCOME +WHY\n/)
  t.notMatch(good.stdout, 'failed')
  const bad = await fed(tokenOf(headerOf(key), { ...claims, sub: 'other' }, key), 'test', policyId)
  t.match(bad, { code: 1, stderr: 'An exchange would be refused.\n' })
  t.match(bad.stdout, /subject +failed +"sub" is not the subject of the policy\n/)

  t.match(await run('policies', 'pause', policyId), { code: 0, stdout: `paused ${policyId}\n` })
  t.equal(store.federation.policies.get(policyId)?.enabled, false)
  t.match(await run('policies', 'enable', policyId), { code: 0, stdout: `enabled ${policyId}\n` })
  t.equal(store.federation.policies.get(policyId)?.enabled, true)
  t.match(await run('policies', 'delete', policyId), { code: 0, stdout: `deleted ${policyId}\n` })
  t.match(await run('issuers', 'delete', issuerId), { code: 0, stdout: `deleted ${issuerId}\n` })
  t.strictSame(
    [store.federation.policies.get(policyId), store.federation.issuers.get(issuerId)],
    [null, null],
  )
  for (const command of ['policies enable', 'policies pause', 'policies delete', 'test']) {
    const complaint = `sluice: there is no policy ${policyId}\n`
    t.match(await run(...command.split(' '), policyId), { code: 1, stdout: '', stderr: complaint })
  }

  const rows = (await run('audit')).stdout.trimEnd().split('\n').slice(1)
  const actions = rows.map((row) => row.split(/ {2,}/)[1])
  t.strictSame(actions, [
    'issuer.delete',
    'policy.delete',
    'policy.enable',
    'policy.pause',
    'policy.create',
    'issuer.create',
  ])
  t.ok(rows.every((row) => row.includes('command line')))
  t.equal((await run('audit', '--limit', '2')).stdout.trimEnd().split('\n').length, 3)
  t.equal((await run('audit', '--trail', 'issued')).stdout.trimEnd().split('\n').length, 1)
})

test('an issuer belongs to the organization that was named, and its policies to no other', async (t) => {
  const { store, run, keyHash } = await bench(t)
  const organizationId = idOf(7)
  await store.accounts.addOrganization({ organization: organizationOf(7), workspaces: [], keys: [] })
  const made = await run(...ISSUER, '--organization', organizationId)
  t.equal(store.federation.issuers.get(made.stdout.trim())?.organizationId, organizationId)
  t.match((await run('issuers', 'list', '--organization', organizationId)).stdout, 'https://a.example')
  const other = store.accounts.organizations().find(({ id }) => id !== organizationId)!.id
  t.notMatch((await run('issuers', 'list', '--organization', other)).stdout, 'https://a.example')
  const wish = ['--audience', 'a', '--subject', 's', '--key', keyHash]
  const foreign = await run('policies', 'create', '--issuer', made.stdout.trim(), ...wish)
  t.match(foreign, { code: 1, stderr: 'sluice: api_key_hash: must be a key of the organization\n' })
  const own = await run(...ISSUER, '--organization', other)
  const paused = await run('policies', 'create', '--issuer', own.stdout.trim(), ...wish, '--paused')
  t.match(store.federation.policies.get(paused.stdout.trim()), { organizationId: other, enabled: false })
})

test('what cannot be saved is told with the name of the field', async (t) => {
  const { keyHash, run } = await bench(t)
  const issuer = (await run(...ISSUER)).stdout.trim()
  const policy = ['policies', 'create', '--issuer', issuer, '--audience', 'a', '--key']
  for (const [args, complaint] of [
    [['issuers', 'create', '--name', 'x', '--url', 'http://a.example'], 'issuer_url: must use https'],
    [[...ISSUER, '--jwks-url', 'x'], 'jwks_url: must be'],
    [[...policy, keyHash], 'subject: must be set when there is no condition'],
    [[...policy, keyHash, '--condition', 'nobody'], 'condition: '],
    [[...policy, hashOf(1), '--subject', 's'], 'api_key_hash: must be a key of the organization'],
    [['issuers', 'list', '--organization', 'nowhere'], 'there is no organization nowhere'],
    [['issuers', 'delete', 'x'], 'there is no issuer x'],
  ] as const) {
    const { code, stdout, stderr } = await run(...args)
    t.strictSame({ code, stdout }, { code: 1, stdout: '' }, args.join(' '))
    t.ok(stderr.startsWith(`sluice: ${complaint}`), stderr)
  }
})

test('keys are listed, and rotated for the server that runs', async (t) => {
  const { store, run } = await bench(t)
  const first = await run('keys', 'rotate')
  const second = await run('keys', 'rotate')
  t.equal(second.code, 0)
  t.not(second.stdout, first.stdout)
  const { stdout } = await run('keys', 'list')
  t.match(stdout, new RegExp(`${first.stdout.trim()}  retired`))
  t.match(stdout, new RegExp(`${second.stdout.trim()}  signs`))
  t.match(stdout, /next {5}/)
  t.ok(store.federation.signingKeyRing()!.keys.some(({ kid }) => kid === second.stdout.trim()))
  t.notMatch(stdout, store.federation.signingKeyRing()!.keys[0]!.sealed)
})

test('a key is dropped for the server that runs, and the audit says which', async (t) => {
  const { store, run } = await bench(t)
  const dropped = (await run('keys', 'rotate')).stdout.trim()
  const { code, stdout } = await run('keys', 'drop', '--', dropped)
  t.equal(code, 0)
  t.match((await run('keys', 'list')).stdout, new RegExp(`${stdout.trim()}  signs`))
  t.notOk(store.federation.signingKeyRing()!.keys.some(({ kid }) => kid === dropped))
  t.match((await run('audit')).stdout, new RegExp(`signing-key.drop +done +kid ${dropped}`))
  const again = await run('keys', 'drop', '--', dropped)
  t.strictSame([again.code, again.stderr], [1, `sluice: there is no key ${dropped}\n`])
})
