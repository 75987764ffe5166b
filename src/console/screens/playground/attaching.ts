/** Files of a form, for models that take them. */
import type { Attachment } from './formats.ts'
import type { Model } from './wire.ts'

/** What a field may choose for a model, as its `accept`; null where the model takes text alone. */
export function acceptOf(model: Model | undefined): string | null {
  const takes = model?.architecture.input_modalities ?? []
  const kinds = [
    ...(takes.includes('image') ? ['image/*'] : []),
    ...(takes.includes('audio') ? ['.wav', '.mp3'] : []),
    ...(takes.includes('file') ? ['.pdf', '.txt', '.md', '.csv', '.json', '.docx', '.xlsx', '.html'] : []),
  ]
  return kinds.length === 0 ? null : kinds.join(',')
}

/** Reads what was chosen; a field without a choice gives one file without a name. */
export function filesIn(fields: FormData): Promise<Attachment[]> {
  const chosen = fields
    .getAll('files')
    .filter((each): each is File => each instanceof File && each.name !== '')
  return Promise.all(chosen.map(read))
}

function read(file: File): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(reader.error ?? new Error('the file cannot be read'))
    reader.onload = () => {
      const base64 = String(reader.result).split(',')[1] ?? ''
      resolve({ name: file.name, type: file.type || 'application/octet-stream', base64 })
    }
    reader.readAsDataURL(file)
  })
}
