/** One thread of a loop floor: does its work for ever and counts each finished turn in shared memory. */
import { createPublicKey, generateKeyPairSync, pbkdf2Sync, sign, verify } from 'node:crypto'
import { workerData } from 'node:worker_threads'
import type { LoopThreadData, LoopWork } from './floor-loop.js'

type JwsWork = LoopWork & { readonly kind: 'jws' }

/** The salt and key length of the operation itself. */
const SALT = 'load-test'
const KEY_BYTES = 32

function turnOf(work: LoopWork): () => unknown {
  if (work.kind === 'pbkdf2') return () => pbkdf2Sync(work.data, SALT, work.rounds, KEY_BYTES, 'sha256')
  if (work.kind === 'jws') return jwsTurn(work)
  const texts = separateTexts(work.sample, work.texts)
  return () => {
    let found = 0
    for (const text of texts) if (text.includes(work.needle)) found++
    return found
  }
}

/** As the server does it: the texts become bytes in every turn, the keys are ready. */
function jwsTurn({ jwk, signed, signature, minted }: JwsWork): () => unknown {
  const dsaEncoding = 'ieee-p1363'
  const theirs = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding } as const
  const ours = { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, dsaEncoding } as const
  const claimed = Buffer.from(signature, 'base64url')
  return () => {
    if (!verify('sha256', Buffer.from(signed), theirs, claimed))
      throw new Error('a good signature was refused')
    return sign('sha256', Buffer.from(minted), ours)
  }
}

/** `count` strings with memory of their own: repeating one string would keep a whole store in the cache. */
function separateTexts(sample: readonly string[], count: number): string[] {
  const bytes = sample.map((text) => Buffer.from(text))
  return Array.from({ length: count }, (_, at) => bytes[at % bytes.length]!.toString())
}

const { work, counts, slot } = workerData as LoopThreadData
const turn = turnOf(work)
for (;;) {
  turn()
  Atomics.add(counts, slot, 1)
}
