/** Examples of fleets in containers and behind proxies: what can be told of them without containers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/compose/configuration.js'
import { tempFolder } from '../support/data/temp-folder.js'

const FOLDER = 'examples/fleet'
const IMAGE = `sluice:${JSON.parse(readFileSync('package.json', 'utf8')).version}`
const readExample = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')

/** Settings of a machine are good where its sealing key lies; it is put where this test can write. */
async function checkSettings(
  t: Test,
  about: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const file = join(tempFolder(t), 'sealing.key')
  writeFileSync(file, Buffer.alloc(32))
  t.ok(settings.SLUICE_SEALING_KEY_FILE, `${about} names a sealing key`)
  const config = await loadConfig({ ...settings, SLUICE_SEALING_KEY_FILE: file })
  t.match(config, { databaseUrl: /^postgres:/, machine: /^[a-z]/, publicUrl: /^https?:/ }, about)
}

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly image?: string
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
  readonly secrets?: readonly string[]
  readonly stop_grace_period?: string
  readonly networks?: { readonly default: { readonly ipv4_address: string } }
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, null>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

test('the compose file has three machines with good settings, and a volume for each', async (t) => {
  const { services, volumes, secrets } = parse(readExample('compose.yaml'), { merge: true }) as Compose
  const machines = Object.entries(services).filter(
    ([, { environment }]) => environment?.SLUICE_MACHINE !== undefined,
  )
  t.equal(machines.length, 3)
  const used = new Set<string>()
  for (const [
    name,
    { environment, volumes: own = [], image, secrets: named = [], stop_grace_period },
  ] of machines) {
    t.equal(environment!.SLUICE_MACHINE, name)
    await checkSettings(t, name, environment!)
    const [volume, place] = own[0]!.split(':') as [string, string]
    t.ok(volume in volumes && !used.has(volume), `${name} has a volume of its own`)
    used.add(volume)
    t.equal(place, '/data', 'where the image has its volume')
    t.equal(image, IMAGE)
    t.strictSame(named, Object.keys(secrets))
    t.equal(environment!.SLUICE_SEALING_KEY_FILE, `/run/secrets/${named[0]}`)
    t.ok(Number.parseInt(stop_grace_period!, 10) > 10, 'a drain has its time')
  }
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services.postgres!.environment!
  const url = `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}`
  for (const [name, { environment }] of machines) t.equal(environment!.SLUICE_DATABASE_URL, url, name)
  const { depends_on, networks } = services.proxy!
  t.strictSame(
    depends_on,
    machines.map(([name]) => name),
  )
  for (const [name, { environment }] of machines)
    t.equal(
      environment!.SLUICE_TRUSTED_PROXIES,
      networks!.default.ipv4_address,
      `${name} trusts the proxy alone`,
    )
})

interface StatefulSet {
  readonly kind: string
  readonly spec: {
    readonly serviceName: string
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value?: string }[]
            readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
            readonly readinessProbe: { readonly httpGet: { readonly path: string } }
          },
        ]
      }
    }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
  }
}

test('the StatefulSet names its machines after its pods, with a volume for each', async (t) => {
  const documents = parseAllDocuments(readExample('kubernetes.yaml')).map((document) => {
    t.strictSame(document.errors, [])
    return document.toJS() as { kind: string; metadata: { name: string } }
  })
  t.strictSame(
    documents.map(({ kind }) => kind),
    ['Service', 'Service', 'PodDisruptionBudget', 'StatefulSet'],
  )
  const { spec } = documents.find(({ kind }) => kind === 'StatefulSet') as unknown as StatefulSet
  t.ok(documents.some(({ kind, metadata }) => kind === 'Service' && metadata.name === spec.serviceName))
  const { containers, terminationGracePeriodSeconds } = spec.template.spec
  const [{ env, volumeMounts, readinessProbe }] = containers
  const given: Readonly<Record<string, string>> = {
    SLUICE_MACHINE: 'sluice-0',
    SLUICE_DATABASE_URL: 'postgres://user:password@host:5432/sluice',
  }
  await checkSettings(
    t,
    'a pod',
    Object.fromEntries(env.map(({ name, value }) => [name, value ?? given[name] ?? ''])),
  )
  const [claim] = spec.volumeClaimTemplates
  t.ok(volumeMounts.some(({ name, mountPath }) => name === claim!.metadata.name && mountPath === '/data'))
  t.equal(readinessProbe.httpGet.path, '/api/v1/health')
  t.ok(terminationGracePeriodSeconds > 10)
})
