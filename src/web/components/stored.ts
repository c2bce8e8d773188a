import { useEffect, useState } from 'preact/hooks'

/** Returns a storage of the browser; undefined if the browser has none. */
export function storageOf(kind: 'localStorage' | 'sessionStorage'): Storage | undefined {
  try {
    return window[kind]
  } catch {
    // Browsers throw when the user forbids storage.
    return undefined
  }
}

/** Returns a text that the user has typed in this tab and not sent; empty for none. */
function readDraft(key: string): string {
  return storageOf('sessionStorage')?.getItem(key) ?? ''
}

/** Keeps a text that the user has typed, or forgets the text if it is empty. */
function writeDraft(key: string, text: string): void {
  if (text === '') {
    storageOf('sessionStorage')?.removeItem(key)
    return
  }
  try {
    storageOf('sessionStorage')?.setItem(key, text)
  } catch {
    // The storage is full. The text stays in the form.
  }
}

/** Returns the keys of all kept texts that begin with a prefix. */
export function draftKeys(prefix: string): string[] {
  return Object.keys(storageOf('sessionStorage') ?? {}).filter((key) => key.startsWith(prefix))
}

/** Dispatched on the window when something else than the user's keyboard adds to a draft. */
const ADDED = 'branchline-draft'

interface Addition {
  readonly key: string
  readonly text: string
}

/** Adds a paragraph to a text that the user has typed and not sent, also if its form is not there yet. */
export function addToDraft(key: string, text: string): void {
  const addition = new CustomEvent<Addition>(ADDED, { detail: { key, text }, cancelable: true })
  // A form that takes the text cancels the event.
  if (dispatchEvent(addition)) writeDraft(key, joined(readDraft(key), text))
}

function joined(before: string, text: string): string {
  return before.trim() === '' ? text : `${before.trimEnd()}\n\n${text}`
}

/** A text that survives a reload until the text is sent. */
export function useDraft(key: string): readonly [text: string, set: (text: string) => void] {
  const [text, setText] = useState(() => readDraft(key))
  const set = (next: string) => {
    writeDraft(key, next)
    setText(next)
  }
  useEffect(() => {
    const take = (event: Event) => {
      const { detail } = event as CustomEvent<Addition>
      if (detail.key !== key) return
      event.preventDefault()
      set(joined(text, detail.text))
    }
    addEventListener(ADDED, take)
    return () => removeEventListener(ADDED, take)
  })
  return [text, set]
}

/** A choice that the browser remembers for all pages. */
export function useChoice<Choice extends string>(
  key: string,
  choices: readonly [Choice, ...Choice[]],
): readonly [choice: Choice, set: (choice: Choice) => void] {
  const [choice, setChoice] = useState(() => {
    const stored = storageOf('localStorage')?.getItem(key)
    return choices.find((known) => known === stored) ?? choices[0]
  })
  return [
    choice,
    (next) => {
      setChoice(next)
      try {
        storageOf('localStorage')?.setItem(key, next)
      } catch {
        // The choice holds for this page.
      }
    },
  ]
}
