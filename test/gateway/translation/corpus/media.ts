/** Pictures and documents. */
import type { ContentPart } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock } from '../../../../src/gateway/formats/messages.js'
import { type Conversation, JPEG, LINK, PDF, PNG, text } from './conversation.js'

const EPHEMERAL = { type: 'ephemeral' } as const

function parts(...content: ContentPart[]): Conversation['chat'] {
  return { messages: [{ role: 'user', content }] }
}

function blocks(...content: ContentBlock[]): NonNullable<Conversation['messages']> {
  return { messages: [{ role: 'user', content }] }
}

const TEXT = text('What is it?')
const picture = (url: string): ContentPart => ({ type: 'image_url', image_url: { url } })
const inline = (media_type: string, data: string): ContentBlock => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})

const LINKED = { type: 'image', source: { type: 'url', url: LINK } }
const PDF_SOURCE = { type: 'base64', media_type: 'application/pdf', data: PDF }
const document = (source: object, more: object = {}): ContentBlock => ({ type: 'document', source, ...more })
const file = (file_data: string, filename?: string): ContentPart & { readonly type: 'file' } => ({
  type: 'file',
  file: { file_data, ...(filename !== undefined && { filename }) },
})

export const MEDIA: readonly Conversation[] = [
  { name: 'a picture by its link', chat: parts(TEXT, picture(LINK)), messages: blocks(TEXT, LINKED) },
  {
    name: 'a picture that comes along',
    chat: parts(picture(`data:image/png;base64,${PNG}`), TEXT),
    messages: blocks(inline('image/png', PNG), TEXT),
  },
  {
    name: 'several pictures, one of them kept',
    chat: parts(
      picture(`data:image/jpeg;base64,${JPEG}`),
      { ...picture(LINK), cache_control: EPHEMERAL } as ContentPart,
      TEXT,
    ),
    messages: blocks(inline('image/jpeg', JPEG), { ...LINKED, cache_control: EPHEMERAL }, TEXT),
  },
  {
    name: 'a picture under another name of its type',
    chat: parts(picture(`data:image/jpg;base64,${JPEG}`)),
    messages: blocks(inline('image/jpeg', JPEG)),
    back: parts(picture(`data:image/jpeg;base64,${JPEG}`)),
  },
  {
    name: 'how closely to look at a picture',
    chat: parts({ type: 'image_url', image_url: { url: LINK, detail: 'high' } }),
    messages: blocks(LINKED),
    back: parts(picture(LINK)),
    lost: { toMessages: ['messages.image_url.detail'] },
  },
  {
    name: 'a document that comes along',
    chat: parts(file(`data:application/pdf;base64,${PDF}`, 'a.pdf'), TEXT),
    messages: blocks(document(PDF_SOURCE, { title: 'a.pdf' }), TEXT),
    answer: 'long text',
  },
  {
    name: 'a document by its link, kept',
    chat: parts({ ...file('https://example.com/a.pdf'), cache_control: EPHEMERAL }),
    messages: blocks(
      document({ type: 'url', url: 'https://example.com/a.pdf' }, { cache_control: EPHEMERAL }),
    ),
  },
  {
    name: 'a document of plain text',
    chat: parts(file(`data:text/plain;base64,${Buffer.from('Zürich\n').toString('base64')}`, 'notes')),
    messages: blocks(
      document({ type: 'text', media_type: 'text/plain', data: 'Zürich\n' }, { title: 'notes' }),
    ),
  },
  {
    name: 'a document of plain text that is not in base64',
    chat: parts(file('data:text/plain,a%20b')),
    messages: blocks(document({ type: 'text', media_type: 'text/plain', data: 'a b' })),
    back: parts(file('data:text/plain;base64,YSBi')),
  },
  {
    name: 'a document whose citations are off',
    chat: parts(file(`data:application/pdf;base64,${PDF}`)),
    messages: blocks(document(PDF_SOURCE, { citations: { enabled: false }, title: null, context: null })),
    forth: blocks(document(PDF_SOURCE)),
  },
]
