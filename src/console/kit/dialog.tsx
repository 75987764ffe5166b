/** Dialogs: the native element, which keeps the focus inside, ends on Escape and gives the focus back. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly close: () => void
  /** A further class. */
  readonly class?: string
  /** It holds what is not shown again: neither Escape nor a click beside it ends it. */
  readonly isKept?: boolean
  readonly children: ComponentChildren
}

/** Open as long as it is rendered. */
export function Dialog({ title, close, class: name = '', isKept, children }: DialogProps) {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const opener = document.activeElement
    const dialog = ref.current!
    dialog.showModal()
    return () => {
      // As long as it is there nothing outside of it takes the focus.
      dialog.remove()
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={`dialog ${name}`}
      aria-labelledby={id}
      onCancel={(event) => isKept && event.preventDefault()}
      // A browser asks only once whether it may close: pressed twice, Escape closes without a question.
      onClose={isKept ? () => ref.current!.showModal() : close}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {!isKept && (
          <button type="button" class="plain icon-only" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  )
}
