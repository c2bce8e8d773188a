import {
  type EditorState,
  type Extension,
  RangeSetBuilder,
  StateEffect,
  StateField,
} from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view'
import type { ColouredLines } from './runs.ts'

const coloured = StateEffect.define<DecorationSet>()

/** Keeps the colours of the last answer at their places until the next one. */
const colours = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, { changes, effects }) {
    for (const effect of effects) if (effect.is(coloured)) return effect.value
    return before.map(changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** Shows the colours that `showColours` sets. */
export const withColours: Extension = colours

/** Sets the colours of a text; undefined for a language that has none. */
export function showColours(view: EditorView, lines: ColouredLines | undefined): void {
  view.dispatch({
    effects: coloured.of(lines ? decorationsOf(view.state, lines) : Decoration.none),
  })
}

function decorationsOf({ doc }: EditorState, lines: ColouredLines): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>()
  let at = 0
  for (const runs of lines) {
    for (const { text, classes } of runs) {
      const end = at + text.length
      if (classes.length > 0 && end <= doc.length)
        builder.add(at, end, Decoration.mark({ class: classes.join(' ') }))
      at = end
    }
    // The end of the line.
    at += 1
  }
  return builder.finish()
}
