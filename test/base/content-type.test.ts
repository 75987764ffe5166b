import { test } from 'tap'
import { contentTypeOf } from '../../src/base/content-type.js'

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

test('the first bytes tell what a file is', (t) => {
  const cases: [string, Buffer, string][] = [
    ['PDF', latin1('%PDF-1.7\n'), 'application/pdf'],
    ['PNG', latin1('\x89PNG\r\n\x1a\n\0\0'), 'image/png'],
    ['JPEG', latin1('\xff\xd8\xff\xe0'), 'image/jpeg'],
    ['GIF', latin1('GIF89a\x01'), 'image/gif'],
    ['WebP', latin1('RIFF\x10\0\0\0WEBPVP8 '), 'image/webp'],
    ['WAV', latin1('RIFF\x10\0\0\0WAVEfmt '), 'audio/wav'],
    ['RIFF of another kind', latin1('RIFF\x10\0\0\0AVI LIST'), 'application/octet-stream'],
    ['MP3 with a tag', latin1('ID3\x04\0'), 'audio/mpeg'],
    ['MP3 without one', latin1('\xff\xfb\x90\x64\0'), 'audio/mpeg'],
    ['AAC', latin1('\xff\xf1\x50\x80\0'), 'audio/aac'],
    ['M4A', latin1('\0\0\0\x20ftypM4A \0'), 'audio/mp4'],
    ['MP4', latin1('\0\0\0\x20ftypisom\0'), 'video/mp4'],
    ['Ogg', latin1('OggS\0\x02'), 'audio/ogg'],
    ['FLAC', latin1('fLaC\0'), 'audio/flac'],
    ['WebM', latin1('\x1aE\xdf\xa3\x01'), 'video/webm'],
    ['ZIP', latin1('PK\x03\x04\x14'), 'application/zip'],
    ['gzip', latin1('\x1f\x8b\x08\0'), 'application/gzip'],
    ['text', Buffer.from('grün ☃\n'), 'text/plain'],
    ['markup', latin1('<!doctype html><script>'), 'text/plain'],
    ['a zero byte', latin1('text\0text'), 'application/octet-stream'],
    ['no UTF-8', latin1('gr\xfcn'), 'application/octet-stream'],
    ['nothing', Buffer.alloc(0), 'text/plain'],
  ]
  for (const [name, head, type] of cases) t.equal(contentTypeOf(head, true), type, name)
  t.end()
})

test('a character that is cut off by the end of what is looked at is no fault of the text', (t) => {
  const text = Buffer.from('☃☃')
  for (let cut = 1; cut <= 2; cut++) {
    t.equal(contentTypeOf(text.subarray(0, text.length - cut), false), 'text/plain')
    t.equal(contentTypeOf(text.subarray(0, text.length - cut), true), 'application/octet-stream')
  }
  t.end()
})
