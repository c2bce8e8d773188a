import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, indentUnit } from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import {
  EditorView,
  highlightSpecialChars,
  type KeyBinding,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { t } from '../language/texts.tsx'
import { showColours, withColours } from './editor-colours.ts'
import { indentationOf } from './indentation.ts'
import { useHighlighter } from './use-highlighter.ts'

/** Longer texts have no colours, since each pause of the writer colours all of the text anew. */
const MAX_COLOURED_CHARACTERS = 100_000

/** How long Escape lets Tab leave the editor, unless another key comes first. */
const LEAVING_MS = 60_000

/** How long a writer pauses before the text gets its colours. */
const PAUSE_MS = 300

/** Properties of an editor. */
export interface CodeEditorProps {
  /** Of the file, whose end says the language. */
  readonly path: string
  readonly text: string
  /** The id of the element that names the editor. */
  readonly labelledBy: string
  /** The id of the element that says how to use the editor. */
  readonly describedBy: string
  readonly onText: (text: string) => void
}

/** A text field for source text, with numbers of lines, search and indentation. */
export function CodeEditor({ path, text, onText, ...names }: CodeEditorProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  const latest = useRef(onText)
  latest.current = onText
  /** The text of the editor, so that a long text is not read from the editor again. */
  const shown = useRef(text)
  useLayoutEffect(() => {
    const listener = EditorView.updateListener.of(({ docChanged, state }) => {
      if (!docChanged) return
      shown.current = state.doc.toString()
      latest.current(shown.current)
    })
    const extensions = [listener, extensionsOf(text, names)]
    const state = EditorState.create({ doc: text, extensions })
    const editor = new EditorView({ state, ...(box.current && { parent: box.current }) })
    view.current = editor
    return () => editor.destroy()
  }, [])
  // Before the browser takes the next key, which would otherwise be lost with an older text.
  useLayoutEffect(() => {
    const editor = view.current
    if (!editor || text === shown.current) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } })
  }, [text])
  useColours(view, path, text)
  return <div ref={box} />
}

/** Colours the text when the writer pauses. */
function useColours(view: { current: EditorView | undefined }, path: string, text: string): void {
  const load = useHighlighter()
  useEffect(() => {
    const ended = new AbortController()
    const colour = async () => {
      const highlighter = await load()
      const [lines] = (await highlighter.highlight([text], path, ended.signal)) ?? []
      if (view.current && !ended.signal.aborted) showColours(view.current, lines)
    }
    // The text stays as it is where there are no colours.
    const timer = setTimeout(() => colour().catch(() => undefined), PAUSE_MS)
    if (text.length > MAX_COLOURED_CHARACTERS) clearTimeout(timer)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [view, path, text, load])
}

/** The editor itself gives the user two seconds, which is too short for many. */
const letTabLeave: KeyBinding = {
  key: 'Escape',
  run(view) {
    view.setTabFocusMode(LEAVING_MS)
    return true
  },
}

type Names = Pick<CodeEditorProps, 'labelledBy' | 'describedBy'>

function extensionsOf(text: string, { labelledBy, describedBy }: Names): Extension {
  // Ctrl+Enter sends the form.
  const keys = defaultKeymap.filter(({ key }) => key !== 'Mod-Enter')
  return [
    PHRASES,
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    bracketMatching(),
    search({ top: true }),
    highlightSelectionMatches(),
    withColours,
    indentUnit.of(indentationOf(text)),
    EditorState.tabSize.of(4),
    // Escape closes the search first.
    keymap.of([...searchKeymap, letTabLeave, ...historyKeymap, indentWithTab, ...keys]),
    EditorView.contentAttributes.of({
      'aria-labelledby': labelledBy,
      'aria-describedby': describedBy,
    }),
    LOOK,
  ]
}

/** The texts of the editor itself, by its English ones. */
const PHRASES = EditorState.phrases.of({
  Find: t('Find @editor'),
  Replace: t('Replace @editor'),
  next: t('next @editor'),
  previous: t('previous @editor'),
  all: t('all @editor'),
  'match case': t('match case @editor'),
  regexp: t('regexp @editor'),
  'by word': t('by word @editor'),
  replace: t('replace @editor'),
  'replace all': t('replace all @editor'),
  close: t('close @editor'),
  'Go to line': t('Go to line @editor'),
  go: t('go @editor'),
  'current match': t('current match @editor'),
  'on line': t('on line @editor'),
  'replaced match on line $': t('replaced match on line $ @editor'),
  'replaced $ matches': t('replaced $ matches @editor'),
  'Selection deleted': t('Selection deleted @editor'),
  'Control character': t('Control character @editor'),
})

const LOOK = EditorView.theme({
  '&': {
    height: 'min(36rem, 70vh)',
    border: '1px solid var(--edge)',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--back)',
    color: 'var(--text)',
    fontSize: '0.9em',
  },
  '&.cm-focused': { outline: '2px solid var(--main)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono, monospace)' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': {
    border: 'none',
    backgroundColor: 'var(--inset)',
    color: 'var(--soft)',
  },
  '.cm-panels': { backgroundColor: 'var(--inset)', color: 'var(--text)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--sans)' },
  '.cm-panel.cm-search input': { display: 'inline-block', width: 'auto', maxWidth: '100%' },
  '.cm-panel.cm-search [type=checkbox]': { marginRight: '0.25rem' },
  '.cm-panel.cm-search label': { display: 'inline-block', margin: '0 0.5rem 0 0' },
  '.cm-button': {
    border: '1px solid var(--edge)',
    backgroundColor: 'var(--back)',
    backgroundImage: 'none',
    color: 'var(--text)',
  },
  '.cm-panel.cm-search [name=close]': { color: 'var(--text)' },
  '.cm-textfield': { border: '1px solid var(--edge)', backgroundColor: 'var(--back)' },
  '.cm-searchMatch, .cm-selectionMatch': { backgroundColor: 'var(--tint)' },
  '.cm-searchMatch.cm-searchMatch-selected': { backgroundColor: 'var(--marked)' },
  '.cm-specialChar': { color: 'var(--problem-edge)' },
})
