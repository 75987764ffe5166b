/** Version of the product; a test holds it against package.json. */
export const VERSION = '0.1.0'

/** Version of the interface, as the practice API and the document tell it. */
export const INTERFACE_VERSION = '2.0'
