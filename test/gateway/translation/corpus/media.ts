/** Pictures and documents. */
import type { ContentPart } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock } from '../../../../src/gateway/formats/messages.js'
import { type Conversation, JPEG, LINK, PDF, PNG } from './conversation.js'

const EPHEMERAL = { type: 'ephemeral' } as const

function parts(...content: ContentPart[]): Conversation['chat'] {
  return { messages: [{ role: 'user', content }] }
}

function blocks(...content: ContentBlock[]): Conversation['messages'] {
  return { messages: [{ role: 'user', content }] }
}

const TEXT = { type: 'text', text: 'What is it?' } as const
const picture = (url: string): ContentPart => ({ type: 'image_url', image_url: { url } })
const inline = (media_type: string, data: string): ContentBlock => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})

export const MEDIA: readonly Conversation[] = [
  {
    name: 'a picture by its link',
    chat: parts(TEXT, picture(LINK)),
    messages: blocks(TEXT, { type: 'image', source: { type: 'url', url: LINK } }),
    answer: 'text',
  },
  {
    name: 'a picture that comes along',
    chat: parts(picture(`data:image/png;base64,${PNG}`), TEXT),
    messages: blocks(inline('image/png', PNG), TEXT),
    answer: 'text',
  },
  {
    name: 'several pictures, one of them kept',
    chat: parts(
      picture(`data:image/jpeg;base64,${JPEG}`),
      { type: 'image_url', image_url: { url: LINK }, cache_control: EPHEMERAL },
      TEXT,
    ),
    messages: blocks(
      inline('image/jpeg', JPEG),
      { type: 'image', source: { type: 'url', url: LINK }, cache_control: EPHEMERAL },
      TEXT,
    ),
    answer: 'text',
  },
  {
    name: 'a picture under another name of its type',
    chat: parts(picture(`data:image/jpg;base64,${JPEG}`)),
    messages: blocks(inline('image/jpeg', JPEG)),
    back: parts(picture(`data:image/jpeg;base64,${JPEG}`)),
    answer: 'text',
  },
  {
    name: 'how closely to look at a picture',
    chat: parts({ type: 'image_url', image_url: { url: LINK, detail: 'high' } }),
    messages: blocks({ type: 'image', source: { type: 'url', url: LINK } }),
    back: parts(picture(LINK)),
    lost: { toMessages: ['messages.image_url.detail'] },
    answer: 'text',
  },
  {
    name: 'a document that comes along',
    chat: parts(
      { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}`, filename: 'a.pdf' } },
      TEXT,
    ),
    messages: blocks(
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: PDF },
        title: 'a.pdf',
      },
      TEXT,
    ),
    answer: 'long text',
  },
  {
    name: 'a document by its link, kept',
    chat: parts({ type: 'file', file: { file_data: 'https://example.com/a.pdf' }, cache_control: EPHEMERAL }),
    messages: blocks({
      type: 'document',
      source: { type: 'url', url: 'https://example.com/a.pdf' },
      cache_control: EPHEMERAL,
    }),
    answer: 'text',
  },
  {
    name: 'a document of plain text',
    chat: parts({
      type: 'file',
      file: {
        file_data: `data:text/plain;base64,${Buffer.from('Zürich\n').toString('base64')}`,
        filename: 'notes',
      },
    }),
    messages: blocks({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'Zürich\n' },
      title: 'notes',
    }),
    answer: 'text',
  },
  {
    name: 'a document of plain text that is not in base64',
    chat: parts({ type: 'file', file: { file_data: 'data:text/plain,a%20b' } }),
    messages: blocks({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a b' } }),
    back: parts({ type: 'file', file: { file_data: 'data:text/plain;base64,YSBi' } }),
    answer: 'text',
  },
  {
    name: 'a document whose citations are off',
    chat: parts({ type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}` } }),
    messages: blocks({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: PDF },
      citations: { enabled: false },
      title: null,
      context: null,
    }),
    forth: blocks({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } }),
    answer: 'text',
  },
]
