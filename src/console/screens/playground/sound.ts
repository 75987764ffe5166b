/** Models of sound: a text is spoken, or a recording written down. Their answers come whole. */
import type { Attachment, Request, Said } from './formats.ts'
import type { Model, SoundKind } from './wire.ts'

/** Null for a model of text. */
export function soundOf(model: Model | undefined): SoundKind | null {
  const gives = model?.architecture.output_modalities ?? []
  return gives.includes('speech') ? 'speech' : gives.includes('transcription') ? 'transcription' : null
}

/** What is asked with the last turn. */
export function soundCall(kind: SoundKind, { model, voice }: Request, turns: readonly Said[]) {
  const { text = '', files = [] } = turns.at(-1) ?? {}
  if (kind === 'speech')
    return { path: 'audio/speech', body: { model, voice, input: text, response_format: 'mp3' } }
  return { path: 'audio/transcriptions', body: { model, input_audio: recordingIn(files) } }
}

function recordingIn([file]: readonly Attachment[]) {
  return { data: file?.base64 ?? '', format: file?.name.split('.').at(-1)?.toLowerCase() ?? 'wav' }
}
