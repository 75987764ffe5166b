/** Providers that only speak or listen, in the configuration. */
import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { parse } from 'yaml'
import { readGateway } from '../../../src/compose/configuration.js'

const SERVICES = [
  ['deepgram', 'https://api.deepgram.com', ['transcription', 'speech']],
  ['elevenlabs', 'https://api.elevenlabs.io', ['transcription', 'speech']],
  ['assemblyai', 'https://api.assemblyai.com', ['transcription']],
] as const

for (const [kind, baseUrl, serves] of SERVICES) {
  const read = (output_modalities?: readonly string[]) =>
    readGateway(
      {
        providers: { theirs: { kind } },
        models: {
          'a/b': {
            endpoints: [{ provider: 'theirs' }],
            ...(output_modalities !== undefined && { output_modalities }),
          },
        },
      },
      {},
    )

  test(`a provider of kind ${kind} needs nothing but its kind`, async (t) => {
    t.match(read(serves.slice(0, 1)).gateway?.providers.theirs, {
      kind,
      baseUrl,
      apiKey: null,
      headers: {},
      hasBreaker: true,
    })
  })

  test(`a provider of kind ${kind} serves no model of another kind of output`, async (t) => {
    for (const modality of serves) t.same(read([modality]).faults, [])
    for (const modalities of [undefined, ['text'], [serves[0], 'text'], ['embeddings']]) {
      const { faults } = read(modalities)
      t.match(faults, [{ path: 'models.a/b.endpoints[0].provider', problem: new RegExp(kind) }])
    }
  })
}

test('assemblyai does not speak', async (t) => {
  const models = { 'a/b': { output_modalities: ['speech'], endpoints: [{ provider: 'theirs' }] } }
  const { faults } = readGateway({ providers: { theirs: { kind: 'assemblyai' } }, models }, {})
  t.match(faults, [{ path: 'models.a/b.endpoints[0].provider' }])
})

test('the configurations that the guide of speech and transcription shows are good ones', async (t) => {
  const guide = readFileSync('docs/guide/speech-and-transcription.md', 'utf8')
  const blocks = [...guide.matchAll(/```yaml\n([^`]*)```/g)].map(([, block]) => parse(block!))
  t.ok(blocks.length >= 4)
  const environment = {
    DEEPGRAM_API_KEY: 'x',
    ELEVENLABS_API_KEY: 'x',
    ASSEMBLYAI_API_KEY: 'x',
    OPENAI_API_KEY: 'x',
  }
  for (const block of blocks) t.same(readGateway(block, environment).faults, [], JSON.stringify(block))
  const kinds = blocks.flatMap(({ providers = {} }) =>
    Object.values(providers).map((each) => (each as { kind: string }).kind),
  )
  for (const [kind] of [...SERVICES, ['openai']]) t.ok(kinds.includes(kind!), kind)
})
