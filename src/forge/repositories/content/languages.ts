import { sizesByExtension } from '../../../platform/git/objects/file-sizes.ts'
import type { Caller } from '../../core/access.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { findCommitId, reading } from './git-reading.ts'

/** Extensions and names of files by language, under the names that GitHub's Linguist uses. */
const LANGUAGES: Readonly<Record<string, string>> = {
  Assembly: '.asm .s',
  Batchfile: '.bat .cmd',
  C: '.c .h',
  'C#': '.cs',
  'C++': '.cc .cpp .cxx .hh .hpp .hxx',
  Clojure: '.clj .cljc .cljs .edn',
  CMake: '.cmake CMakeLists.txt',
  CoffeeScript: '.coffee',
  CSS: '.css',
  Cuda: '.cu .cuh',
  D: '.d',
  Dart: '.dart',
  Dockerfile: '.dockerfile Dockerfile Containerfile',
  Elixir: '.ex .exs',
  Elm: '.elm',
  'Emacs Lisp': '.el',
  Erlang: '.erl .hrl',
  'F#': '.fs .fsx',
  Fortran: '.f .f90 .f95 .for',
  GLSL: '.glsl .frag .vert',
  Go: '.go',
  Groovy: '.groovy .gradle',
  Haskell: '.hs',
  HCL: '.hcl .tf',
  HTML: '.html .htm .xhtml',
  Java: '.java',
  JavaScript: '.cjs .js .jsx .mjs',
  Jinja: '.j2 .jinja',
  Julia: '.jl',
  'Jupyter Notebook': '.ipynb',
  Kotlin: '.kt .kts',
  Less: '.less',
  Lua: '.lua',
  Makefile: '.mk Makefile GNUmakefile',
  Nim: '.nim',
  Nix: '.nix',
  'Objective-C': '.m',
  'Objective-C++': '.mm',
  OCaml: '.ml .mli',
  Pascal: '.pas .pp',
  Perl: '.pl .pm',
  PHP: '.php',
  PowerShell: '.ps1 .psm1',
  Python: '.py .pyi .pyw',
  QML: '.qml',
  R: '.r',
  Ruby: '.rb Gemfile Rakefile',
  Rust: '.rs',
  Sass: '.sass',
  Scala: '.sc .scala',
  Scheme: '.scm .ss',
  SCSS: '.scss',
  Shell: '.bash .sh .zsh',
  Solidity: '.sol',
  Starlark: '.bzl BUILD WORKSPACE',
  Svelte: '.svelte',
  Swift: '.swift',
  Tcl: '.tcl',
  TeX: '.cls .sty .tex',
  TypeScript: '.cts .mts .ts .tsx',
  'Vim Script': '.vim',
  VHDL: '.vhd .vhdl',
  Verilog: '.v .vh',
  'Visual Basic .NET': '.vb',
  Vue: '.vue',
  WebAssembly: '.wat',
  XSLT: '.xsl .xslt',
  Zig: '.zig',
}

const LANGUAGE_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(LANGUAGES).flatMap(([language, keys]) =>
    keys.split(' ').map((key) => [key, language] as const),
  ),
)

/**
 * Returns the size in bytes of the files of each language on the default branch of a repository, the
 * largest first. Empty for a repository without a commit.
 */
export async function getRepositoryLanguages(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<ReadonlyMap<string, number>> {
  const { repository } = await openRepository(app, caller, name, 'read')
  const commitId = await findCommitId(app, repository, '')
  if (commitId === undefined) return new Map()
  const sums = new Map<string, number>()
  for (const [key, bytes] of await reading(sizesByExtension(app.git, repository.id, commitId))) {
    const language = LANGUAGE_OF.get(key)
    if (language) sums.set(language, (sums.get(language) ?? 0) + bytes)
  }
  return new Map([...sums].sort(([, a], [, b]) => b - a))
}
