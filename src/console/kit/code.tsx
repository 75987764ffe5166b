/** What is copied: a button for any text, and texts that are there for it. */
import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const COPIED_MS = 1_500

/** A button that copies a text. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), COPIED_MS)
  }
  return (
    <button
      type="button"
      class="plain icon-only copy"
      aria-label={isCopied ? 'Copied' : label}
      title={isCopied ? 'Copied' : label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? 'good' : 'copy'} />
    </button>
  )
}

/** A text that is meant to be copied: a command, a key. */
export function Code({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <div class="code">
      <pre>{text}</pre>
      <Copy text={text} label={label} />
    </div>
  )
}
