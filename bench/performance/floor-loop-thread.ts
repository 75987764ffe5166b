/** One thread of a loop floor: does its work for ever and counts each finished turn in shared memory. */
import { pbkdf2Sync } from 'node:crypto'
import { workerData } from 'node:worker_threads'
import { generateKeyPair, importJWK, jwtVerify, SignJWT } from 'jose'
import type { LoopThreadData, LoopWork } from './floor-loop.js'

type JwsWork = LoopWork & { readonly kind: 'jws' }

/** The salt and key length of the operation itself. */
const SALT = 'load-test'
const KEY_BYTES = 32

async function turnOf(work: LoopWork): Promise<() => unknown> {
  if (work.kind === 'pbkdf2') return () => pbkdf2Sync(work.data, SALT, work.rounds, KEY_BYTES, 'sha256')
  if (work.kind === 'jws') return await jwsTurn(work)
  const texts = separateTexts(work.sample, work.texts)
  return () => {
    let found = 0
    for (const text of texts) if (text.includes(work.needle)) found++
    return found
  }
}

/** As `jose` is used by its own manual; the keys are ready, as the server has them. */
async function jwsTurn({ alg, jwk, token, header, claims }: JwsWork): Promise<() => Promise<string>> {
  const theirs = await importJWK(jwk, alg)
  const { privateKey: ours } = await generateKeyPair(header.alg)
  return async () => {
    await jwtVerify(token, theirs)
    return await new SignJWT({ ...claims }).setProtectedHeader(header).sign(ours)
  }
}

/** `count` strings with memory of their own: repeating one string would keep a whole store in the cache. */
function separateTexts(sample: readonly string[], count: number): string[] {
  const bytes = sample.map((text) => Buffer.from(text))
  return Array.from({ length: count }, (_, at) => bytes[at % bytes.length]!.toString())
}

const { work, counts, slot } = workerData as LoopThreadData
const turn = await turnOf(work)
for (;;) {
  const turned = turn()
  if (turned instanceof Promise) await turned
  Atomics.add(counts, slot, 1)
}
