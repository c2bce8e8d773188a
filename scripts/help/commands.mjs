/**
 * The commands of package.json by purpose: name, arguments that are useful, and what the command
 * does.
 * @typedef {readonly (readonly [name: string, args: string, what: string])[]} Commands
 */

/** @type {Readonly<Record<string, Commands>>} */
export const COMMANDS = {
  'Run the server': [
    [
      'start',
      '--listen 0.0.0.0:8080',
      'sets the clone up and serves ./data; all settings: docs/operations.md',
    ],
    ['setup', '', 'sets the clone up for serving, and does nothing else'],
  ],
  'Change the code': [
    [
      'dev',
      '',
      'serves people, repositories and pull requests in data-dev; restarts on each change',
    ],
    ['format', '', 'formats the proto files and all code'],
    ['generate', '', 'writes gen/ and docs/methods.md from proto/'],
    [
      'screenshots',
      '',
      'writes the pictures of the web pages into docs/screenshots; needs Chromium',
    ],
    ['help', '', 'prints this list'],
  ],
  'Check a change': [
    [
      'check',
      '',
      'checks that run no server: schema, generated code, formatter, linter, types, layout',
    ],
    [
      'test',
      'forge/accounts',
      'all checks and the usual tests, or the tests on SQLite whose path has an argument',
    ],
    [
      'test:postgres',
      'stories/pulls',
      'tests that use a database on PostgreSQL: those that npm test leaves out, but browsers and protocols, or those selected',
    ],
    ['test:node', '24', 'a short set of tests on another version of Node'],
  ],
  'Check at length': [
    [
      'test:long',
      '',
      'tests that take minutes: chaos, crashes, generated clients, full tables, browsers; compiles Gitea where Go is',
    ],
    [
      'bench',
      'protocols',
      'measures the server against baselines; --write writes docs/performance.md',
    ],
    ['chaos', '--kills 50 --seed 7', 'kills servers under load and checks that nothing is lost'],
    [
      'clients',
      '',
      'runs unmodified clients of other projects; needs Go, Python and Rust for some',
    ],
    ['conformance', '', 'runs the conformance suite of Connect on all protocols; needs Go'],
    ['fuzz', '', 'sends 100,000 mutated requests to the reader of each protocol'],
    [
      'schemathesis',
      '',
      'calls all methods of the OpenAPI document with generated requests; needs Python 3.10',
    ],
    ['soak', '--calls 100000', 'sends a million calls and fails if the memory of the server grows'],
  ],
  Ship: [
    ['build', '', 'bundles the server and the web pages into dist/'],
    ['pack', '', 'writes a tarball of the server for machines with Node and Git only'],
    ['pack:rpc', '', 'writes src/platform/rpc/ as an npm package of its own'],
    [
      'release',
      '1.2.3 --dry-run',
      'writes version, notes, tarball, schema and image into dist/release',
    ],
  ],
}

/**
 * Returns the list as text, with aligned columns.
 * @param {typeof COMMANDS} groups
 */
export function helpText(groups) {
  const typed = (/** @type {string} */ name, /** @type {string} */ args) => {
    const command = name === 'start' || name === 'test' ? `npm ${name}` : `npm run ${name}`
    return args === '' ? command : `${command} -- ${args}`
  }
  const all = Object.values(groups).flat()
  const width = Math.max(...all.map(([name, args]) => typed(name, args).length))
  const sections = Object.entries(groups).map(([purpose, commands]) => {
    const lines = commands.map(
      ([name, args, what]) => `  ${typed(name, args).padEnd(width)}  ${what}`,
    )
    return [purpose, ...lines].join('\n')
  })
  return `${sections.join('\n\n')}\n\nArguments after \`--\` are examples. Each command sets up what it needs first.\n`
}
