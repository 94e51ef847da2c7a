declare module 'virtual:examples' {
  interface ExampleFile {
    readonly name: string;
    /** Where Flink had written it: a Flink path. */
    readonly at: string;
    /** The root that keys of the listing are relative to. */
    readonly root: string;
    /** URLs of the bytes. */
    readonly metadata: string;
    readonly listing: string;
    /** The bucket's lifecycle rules; the listing is one of the bucket then. */
    readonly rules: string | null;
  }
  interface Example {
    readonly id: string;
    readonly title: string;
    readonly about: string;
    readonly files: readonly ExampleFile[];
  }
  const examples: readonly Example[];
  export default examples;
}
