/** Services with a format of their own, by kind: where their API begins, and which models they can serve. */
export const AUDIO_SERVICES = {
  deepgram: { origin: 'https://api.deepgram.com', serves: ['transcription', 'speech'] },
  elevenlabs: { origin: 'https://api.elevenlabs.io', serves: ['transcription', 'speech'] },
  assemblyai: { origin: 'https://api.assemblyai.com', serves: ['transcription'] },
} as const

export type AudioServiceKind = keyof typeof AUDIO_SERVICES
