/** Services of speech and transcription are loaded only where they are configured. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'

test('nothing imports one of them but the loader, which does so when it is asked', async (t) => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const importers = files.flatMap((name) => {
    const text = readFileSync(join('src', name), 'utf8')
    return [...text.matchAll(/(from|import\() ?'[^']*\/(deepgram|elevenlabs|assemblyai)\.js'/g)].map(
      ([, how, service]) => `${name} ${how} ${service}`,
    )
  })
  t.same(importers.sort(), [
    'compose/audio-services.ts import( assemblyai',
    'compose/audio-services.ts import( deepgram',
    'compose/audio-services.ts import( elevenlabs',
  ])
})
