/** The part of nodegit 0.28 that this layer uses. The package has no type declarations. */
declare module 'nodegit' {
  export interface Oid {
    toString(): string
  }
  export interface Time {
    time(): number
    offset(): number
  }
  export interface Signature {
    name(): string
    email(): string
    when(): Time
  }
  export interface Commit {
    id(): Oid
    treeId(): Oid
    parentcount(): number
    parentId(index: number): Oid
    author(): Signature
    committer(): Signature
    message(): string
  }
  export interface Blob {
    content(): Buffer
  }
  export interface Odb {
    /** Accepts text only and stores it in UTF-8. */
    write(content: string, bytes: number, type: number): Promise<Oid>
  }
  export interface TreeEntry {
    sha(): string
    filemode(): number
  }
  export interface Tree {
    entryByPath(path: string): Promise<TreeEntry>
  }
  export interface Treebuilder {
    entrycount(): number
    remove(filename: string): number
    insert(filename: string, id: Oid, filemode: number): Promise<unknown>
    write(): Promise<Oid>
  }
  export interface GitObject {
    id(): Oid
    peel(type: number): Promise<GitObject>
  }
  export interface Reference {
    symbolicTarget(): string
  }
  export interface Repository {
    setHead(reference: string): Promise<void>
    odb(): Promise<Odb>
    cleanup(): Promise<void>
  }
  export interface RepositoryInitOptions {
    flags: number
    initialHead: string
  }

  export interface NodeGit {
    readonly Blob: {
      createFromBuffer(repository: Repository, content: Buffer, bytes: number): Promise<Oid>
      lookup(repository: Repository, id: Oid): Promise<Blob>
    }
    readonly Commit: { lookup(repository: Repository, id: Oid): Promise<Commit> }
    readonly Libgit2: {
      readonly OPT: { readonly ENABLE_FSYNC_GITDIR: number; readonly SET_OWNER_VALIDATION: number }
      opts(option: number, value: number): void
    }
    readonly Object: {
      readonly TYPE: { readonly COMMIT: number }
      lookup(repository: Repository, id: Oid, type: number): Promise<GitObject>
    }
    readonly Oid: { fromString(hex: string): Oid }
    readonly Reference: {
      lookup(repository: Repository, name: string): Promise<Reference>
      nameToId(repository: Repository, name: string): Promise<Oid>
    }
    readonly Repository: {
      readonly INIT_FLAG: {
        readonly BARE: number
        readonly NO_REINIT: number
        readonly MKPATH: number
      }
      initExt(path: string, options: RepositoryInitOptions): Promise<Repository>
      openBare(path: string): Promise<Repository>
    }
    readonly Revparse: { single(repository: Repository, spec: string): Promise<GitObject> }
    readonly Signature: {
      create(name: string, email: string, time: number, offset: number): Signature
    }
    readonly Tag: {
      annotationCreate(
        repository: Repository,
        name: string,
        target: GitObject,
        tagger: Signature,
        message: string,
      ): Promise<Oid>
    }
    readonly Tree: { lookup(repository: Repository, id: Oid): Promise<Tree> }
    readonly Treebuilder: {
      create(repository: Repository, source: Tree | null): Promise<Treebuilder>
    }
  }
}
