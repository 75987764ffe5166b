/** The manifests, against the schemas that Kubernetes publishes, and against what the image and a drain need. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Service } from 'kubernetes-models/v1'
import { test } from 'tap'
import ts from 'typescript'
import { parseAllDocuments } from 'yaml'
import { tempFolder } from '../support/data/temp-folder.js'

const MANIFESTS = ['examples/machine/kubernetes.yaml', 'examples/fleet/kubernetes.yaml']
const DRAIN_SECONDS = 10
const USER = 65532

/** By kind: the schema, and the type that was made of it, which also knows members that do not exist. */
const KINDS = {
  Service: { model: Service, type: "import('kubernetes-models/v1').IService" },
  StatefulSet: { model: StatefulSet, type: "import('kubernetes-models/apps/v1').IStatefulSet" },
  PodDisruptionBudget: {
    model: PodDisruptionBudget,
    type: "import('kubernetes-models/policy/v1').IPodDisruptionBudget",
  },
}

interface Manifest {
  readonly kind: keyof typeof KINDS
  readonly apiVersion: string
  // biome-ignore lint/suspicious/noExplicitAny: what a document holds is for the schema to say
  readonly spec: any
}

const readManifests = (file: string, prepare = (text: string) => text): Manifest[] =>
  parseAllDocuments(prepare(readFileSync(file, 'utf8'))).map((document) => document.toJS())

/** With the members that stand there as comments. */
const withCommented = (text: string): string => text.replaceAll(/^( {4,})# (?=- | {2})/gm, '$1')

/** What the compiler finds in the manifests when they are written as objects of those types. */
function strayMembers(folder: string, manifests: readonly Manifest[]): string[] {
  const file = join(folder, 'manifests.mts')
  const lines = manifests.map(
    (manifest, index) => `export const m${index}: ${KINDS[manifest.kind].type} = ${JSON.stringify(manifest)}`,
  )
  writeFileSync(file, lines.join('\n'))
  const options = {
    ...{ noEmit: true, strict: true, skipLibCheck: true, types: [] },
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    paths: { 'kubernetes-models/*': [resolve('node_modules/kubernetes-models/*/index.d.ts')] },
  }
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

for (const file of MANIFESTS) {
  test(`${file} is what the schemas of Kubernetes say, with what it has as comments and without`, async (t) => {
    const whole = readManifests(file, withCommented)
    const [container] = whole.find(({ kind }) => kind === 'StatefulSet')!.spec.template.spec.containers
    const named = container.env.map(({ name }: { name: string }) => name)
    for (const name of ['SLUICE_CONFIG', 'SLUICE_TRUSTED_PROXIES']) t.ok(named.includes(name), name)
    const manifests = [...readManifests(file), ...whole]
    for (const manifest of manifests) {
      const { model: Model } = KINDS[manifest.kind]
      t.equal(manifest.apiVersion, Model.apiVersion)
      // biome-ignore lint/suspicious/noExplicitAny: it is what is looked at
      t.doesNotThrow(() => new Model(manifest as any).validate(), manifest.kind)
    }
    t.strictSame(strayMembers(tempFolder(t), manifests), [])
  })

  test(`${file} runs the image as its user, read-only, and gives a drain its time`, async (t) => {
    const set = readManifests(file).find(({ kind }) => kind === 'StatefulSet')!
    const pod = set.spec.template.spec
    const { runAsNonRoot, runAsUser, fsGroup, seccompProfile } = pod.securityContext
    t.strictSame(
      [runAsNonRoot, runAsUser, fsGroup, seccompProfile],
      [true, USER, USER, { type: 'RuntimeDefault' }],
    )
    t.equal(pod.enableServiceLinks, false, 'or a Service named sluice would be taken for settings')
    const [container] = pod.containers
    const { value } = container.env.find(({ name }: { name: string }) => name === 'SLUICE_PRACTICE')
    t.equal(value, 'keyed', 'a Service is open to all of a cluster')
    t.ok(Number(container.resources.limits.cpu) >= 1, 'by which workers are counted')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    t.equal(container.image, `sluice:${version}`)
    t.strictSame(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const places = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)
    t.ok(places.includes('/data') && places.includes('/tmp'), 'what is written to is a volume')
    const { seconds } = container.lifecycle.preStop.sleep
    t.ok(pod.terminationGracePeriodSeconds > seconds + DRAIN_SECONDS)
  })
}

test('a manifest with a wrong or an unknown member is found', async (t) => {
  const set = readManifests(MANIFESTS[0]!).find(({ kind }) => kind === 'StatefulSet')!
  const unknown = { ...set, spec: { ...set.spec, replica: 1 } }
  t.match(strayMembers(tempFolder(t), [unknown]), [/'"?replica"?' does not exist/])
  const wrong = { ...set, spec: { ...set.spec, replicas: 'one' } }
  // biome-ignore lint/suspicious/noExplicitAny: it is wrong on purpose
  t.throws(() => new StatefulSet(wrong as any).validate())
})
