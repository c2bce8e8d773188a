import { run } from '../setup/child-process.mjs'

/**
 * Returns the checks that take a second each, of those that concern the files of a commit. A commit
 * of pages alone has none.
 * @param {readonly string[]} files paths from the root of the clone
 * @returns {import('./checks.mjs').Check[]}
 */
export function quickChecks(files) {
  const code = files.filter((name) => /\.(?:[cm]?[jt]sx?|json|css)$/.test(name))
  const biome = ['check', '--colors=off', '--no-errors-on-unmatched', ...code]
  const buf = ['format', '--diff', '--exit-code', 'proto']
  return [
    ...(code.length > 0 ? [{ name: 'formatter and linter', run: () => run('biome', biome) }] : []),
    ...(files.some((name) => name.startsWith('proto/'))
      ? [
          { name: 'buf format', run: () => run('buf', buf) },
          { name: 'buf lint', run: () => run('buf', ['lint']) },
        ]
      : []),
  ]
}
