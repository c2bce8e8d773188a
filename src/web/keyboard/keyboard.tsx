import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useApi } from '../api/client.ts'
import { Later } from '../components/load.tsx'
import { say } from '../components/toast.tsx'
import { t } from '../language/texts.tsx'
import { routeOf } from '../routes.ts'
import { isAsking, isSingleKey, type KeyDialog, type KeyDialogProps } from './key-choice.ts'

const DIALOGS = {
  files: async () => (await import('./file-finder.tsx')).FileFinder,
  line: async () => (await import('./line-dialog.tsx')).LineDialog,
  keys: async () => (await import('./key-list.tsx')).KeyList,
  palette: async () => (await import('./palette.tsx')).Palette,
}

/** The keys of one letter that open a dialog. */
const OPENING: Readonly<Record<string, KeyDialog>> = { t: 'files', l: 'line', '?': 'keys' }

/** Time between the `g` and the letter of a place. */
const PAIR_MS = 1_500

/**
 * Keys of all pages. An element with the attribute `data-key`, such as `b` or `g i`, is clicked by its
 * keys. `key-list.tsx` has the list for the user.
 */
export function Keyboard(): VNode | null {
  const api = useApi()
  const [dialog, setDialog] = useState<KeyDialog>()
  useEffect(() => {
    let firstUntil = 0
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return
      if (isPaletteKey(event)) {
        event.preventDefault()
        return setDialog('palette')
      }
      if (!isSingleKey(event)) return
      const isSecond = event.timeStamp < firstUntil
      firstUntil = !isSecond && event.key === 'g' ? event.timeStamp + PAIR_MS : 0
      const target = document.querySelector<HTMLElement>(selectorOf(event.key, isSecond))
      if (target) {
        event.preventDefault()
        return target.click()
      }
      const opened = isSecond ? undefined : openedBy(event.key)
      if (opened) {
        event.preventDefault()
        setDialog(opened)
      } else if (event.key === 'y' && !isSecond && isFilePage()) {
        import('./permalink.ts')
          .then(({ showPermalink }) => showPermalink(api))
          .catch(() => say(t('The address stays, since the server has not said its commit')))
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [api])
  if (!dialog) return null
  // The event of a closed dialog may come after a key that has opened the next one.
  const onClose = () => setDialog((open) => (open === dialog ? undefined : open))
  const props: KeyDialogProps = { onClose, onOpen: setDialog }
  return <Later key={dialog} load={DIALOGS[dialog]} with={props} />
}

function isPaletteKey({ key, ctrlKey, metaKey, shiftKey, altKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() !== 'k' || shiftKey || altKey || ctrlKey === metaKey) return false
  // Editors of files have their own keys.
  return !(target instanceof HTMLElement && target.isContentEditable) && !isAsking()
}

function selectorOf(key: string, isSecond: boolean): string {
  return `[data-key="${CSS.escape(isSecond ? `g ${key}` : key)}"]`
}

function openedBy(key: string): KeyDialog | undefined {
  const dialog = Object.hasOwn(OPENING, key) ? OPENING[key] : undefined
  if (dialog === 'line') return document.querySelector('[data-lines]') ? dialog : undefined
  // A page of a repository that the user may see has its tabs.
  if (dialog === 'files') return document.querySelector('[data-key="g c"]') ? dialog : undefined
  return dialog
}

function isFilePage(): boolean {
  const name = routeOf(new URL(location.href))?.name
  return name === 'code' || name === 'blame'
}
